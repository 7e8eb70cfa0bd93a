//! The files of answers.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use crate::answer::Answer;

/// All answers of one cloud.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Corpus {
    /// In the order of the file.
    #[serde(rename = "answer")]
    pub answers: Vec<Answer>,
}

impl Corpus {
    /// The clouds that have a file.
    pub const CLOUDS: [&'static str; 3] = ["aws", "google", "runpod"];

    /// Reads the file of a cloud.
    ///
    /// # Errors
    /// There is none, an answer is malformed, has no source, or has the name of another.
    pub fn read(cloud: &str) -> Result<Self> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("{cloud}.toml"));
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    fn parse(text: &str) -> Result<Self> {
        let corpus: Self = toml::from_str(text)?;
        let mut names = BTreeSet::new();
        for answer in &corpus.answers {
            let id = &answer.id;
            ensure!(names.insert(id), "two answers have the name {id}");
            ensure!(answer.source.starts_with("https://"), "{id}: the source is not a URL");
            ensure!(!answer.message.is_empty() || answer.body.is_some(), "{id}: no message");
            if let Some(body) = &answer.body {
                ensure!(crate::shape(body).is_some(), "{id}: the body is neither JSON nor XML");
            }
        }
        Ok(corpus)
    }
}

#[cfg(test)]
mod tests {
    use super::Corpus;

    const ONE: &str = r#"
[[answer]]
id = "a"
source = "https://example.com/"
service = "ec2"
operation = "CreateVpc"
status = 400
code = "VpcLimitExceeded"
message = "m"
client = "quota"
"#;

    #[test]
    fn an_answer_has_a_name_a_source_and_a_known_form() {
        assert_eq!(Corpus::parse(ONE).map_err(drop).map(|corpus| corpus.answers.len()), Ok(1));
        let told = |text: &str| Corpus::parse(text).map(drop).unwrap_err().to_string();
        assert!(told(&format!("{ONE}{ONE}")).contains("two answers have the name a"));
        assert!(told(&ONE.replace("https:", "ftp:")).contains("not a URL"));
        assert!(told(&format!("{ONE}body = \"nothing\"")).contains("neither JSON nor XML"));
        assert!(told(&ONE.replace("quota", "fine")).contains("unknown variant"));
    }
}
