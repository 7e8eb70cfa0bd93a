//! Renders pictures of plans in the programs that readers use, and returns where each text is.
//!
//! Every renderer uses DejaVu Sans only, the widest of the fonts that viewers commonly fall back to, so that results do not
//! depend on the fonts of the machine.

pub mod browser;
pub mod corpus;
pub mod devtools;
pub mod font;
pub mod layout;
pub mod librsvg;
pub mod picture;
