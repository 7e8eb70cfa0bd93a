//! Types that are strings for Terraform: networks, addresses, IDs and enums.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// A string is none of the values of a [`Choice`](derive@crate::Choice).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {0}")]
pub struct NotAChoice(pub &'static str);

/// Makes a type with `FromStr` and `Display` the type of a string attribute. The text completes "must be".
///
/// A string that does not parse is an error at its attribute path.
///
/// ```
/// # use std::{fmt, str::FromStr};
/// #[derive(Clone, Debug, PartialEq)]
/// struct Port(u16);
///
/// impl FromStr for Port {
///     type Err = std::num::ParseIntError;
///     fn from_str(text: &str) -> Result<Port, Self::Err> {
///         text.parse().map(Port)
///     }
/// }
///
/// impl fmt::Display for Port {
///     fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
///         self.0.fmt(f)
///     }
/// }
///
/// tf_provider_rs::text!(Port, "a port number, such as `443`");
/// ```
#[macro_export]
macro_rules! text {
    ($ty:ty, $expected:expr) => {
        #[automatically_derived]
        impl $crate::model::FromValue for $ty {
            fn from_value(
                value: &$crate::Value,
                path: &$crate::Path,
            ) -> ::std::result::Result<Self, $crate::model::ValueError> {
                let text = value
                    .as_str()
                    .ok_or_else(|| $crate::model::ValueError::shape(path, "a string", value))?;
                text.parse::<$ty>().map_err(|_| $crate::model::ValueError::invalid(path, $expected))
            }
        }

        #[automatically_derived]
        impl $crate::model::ToValue for $ty {
            fn to_value(&self) -> $crate::Value {
                $crate::Value::String(::std::string::ToString::to_string(self))
            }
        }

        #[automatically_derived]
        impl $crate::model::AttributeType for $ty {
            fn shape() -> $crate::schema::Shape {
                $crate::schema::Shape::Plain($crate::Type::String)
            }
        }

        #[automatically_derived]
        impl $crate::model::Text for $ty {}
    };
}

/// Declares string types for IDs with a fixed prefix, so that an ID of another type does not pass.
///
/// ```
/// tf_provider_rs::id! {
///     /// ID of a VPC.
///     pub struct VpcId("vpc-");
/// }
///
/// let id: VpcId = "vpc-0a1b2c3d".parse().unwrap();
/// assert_eq!(id.as_str(), "vpc-0a1b2c3d");
/// assert!("subnet-0a1b2c3d".parse::<VpcId>().is_err());
/// assert!("".parse::<VpcId>().is_err());
/// ```
#[macro_export]
macro_rules! id {
    ($( $(#[$meta:meta])* $vis:vis struct $name:ident($prefix:literal); )+) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis struct $name(::std::string::String);

        impl $name {
            /// The ID as text.
            $vis fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl ::std::ops::Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(&self.0)
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::model::NotAChoice;

            fn from_str(text: &str) -> ::std::result::Result<Self, Self::Err> {
                match text.strip_prefix($prefix) {
                    Some(rest) if !rest.is_empty() => Ok($name(text.to_owned())),
                    _ => Err($crate::model::NotAChoice(concat!("an ID that begins with `", $prefix, "`"))),
                }
            }
        }

        impl ::std::convert::From<$name> for ::std::string::String {
            fn from(id: $name) -> ::std::string::String {
                id.0
            }
        }

        $crate::text!($name, concat!("an ID that begins with `", $prefix, "`"));
    )+};
}

text!(Ipv4Net, "an IPv4 range in CIDR notation, such as `10.0.0.0/16`");
text!(Ipv6Net, "an IPv6 range in CIDR notation, such as `2001:db8::/56`");
text!(IpNet, "an IP range in CIDR notation, such as `10.0.0.0/16`");
text!(Ipv4Addr, "an IPv4 address, such as `10.0.0.1`");
text!(Ipv6Addr, "an IPv6 address, such as `2001:db8::1`");
text!(IpAddr, "an IP address, such as `10.0.0.1`");
