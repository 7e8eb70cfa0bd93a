//! Candidates of GPU types and data centers, in order of preference.
//!
//! One create call places one GPU type; it neither searches for capacity nor falls back to another type. RunPod
//! recommends one call per candidate until one succeeds (description of `createPod` in the OpenAPI document of REST v2,
//! docs.runpod.io/api-reference-v2/pods/create-a-pod). Data centers are enforced, although the schema calls them
//! preferred (runpod/runpod-plugins-official, `runpod-migrate/reference/breaking-changes.md`).

use std::time::Duration;

use serde_json::{Value, json};
use warren_managed::retry;

use crate::error::ApiError;

/// A GPU type and a data center; `None` leaves the choice to RunPod, or means a machine without GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate<'a> {
    pub(crate) gpu: Option<&'a str>,
    pub(crate) data_center: Option<&'a str>,
}

impl Candidate<'_> {
    /// The member `dataCenterIds` of a create call.
    pub(crate) fn data_centers(&self) -> Value {
        self.data_center.map_or_else(|| json!([]), |center| json!([center]))
    }

    fn told(&self) -> String {
        match (self.gpu, self.data_center) {
            (Some(gpu), Some(center)) => format!("{gpu} in {center}"),
            (Some(one), None) | (None, Some(one)) => one.to_owned(),
            (None, None) => "any data center".to_owned(),
        }
    }
}

/// All candidates, best first. The GPU type takes precedence: the first type is tried in every data center before the
/// second one.
pub(crate) fn candidates<'a>(gpus: &'a [String], data_centers: &'a [String]) -> Vec<Candidate<'a>> {
    let each = |items: &'a [String]| -> Vec<Option<&'a str>> {
        if items.is_empty() { vec![None] } else { items.iter().map(|item| Some(item.as_str())).collect() }
    };
    let centers = each(data_centers);
    let of = |gpu| centers.iter().map(move |&data_center| Candidate { gpu, data_center });
    each(gpus).into_iter().flat_map(of).collect()
}

/// Calls `create` with each candidate until one is placed.
///
/// # Errors
/// An error that is the same for every candidate, or one that names all candidates and why each was refused.
pub(crate) async fn place<'a, T, F>(
    candidates: &[Candidate<'a>],
    mut create: impl FnMut(Candidate<'a>) -> F,
) -> Result<T, ApiError>
where
    F: Future<Output = Result<T, ApiError>>,
{
    let mut refused: Vec<(Candidate<'a>, ApiError)> = Vec::new();
    for &candidate in candidates {
        match create(candidate).await {
            Err(error) if error.is_refused_placement() => {
                tracing::info!(candidate = candidate.told(), status = error.status, "candidate refused");
                refused.push((candidate, error));
            }
            other => return other,
        }
        if !retry::pause(Duration::ZERO).await {
            break;
        }
    }
    Err(all_refused(refused))
}

/// One error for all candidates. Missing capacity of any of them decides which advice fits.
fn all_refused(mut refused: Vec<(Candidate<'_>, ApiError)>) -> ApiError {
    let told: Vec<String> = refused
        .iter()
        .map(|(candidate, error)| format!("\n  {}: {}", candidate.told(), error.message.trim()))
        .collect();
    let (number, lacks) = (refused.len(), refused.iter().position(|(_, error)| error.is_no_capacity()));
    let decisive = lacks.unwrap_or(number.saturating_sub(1));
    if number == 0 {
        return ApiError::answered("create", 400, "Bad Request", "there is no candidate".to_owned());
    }
    let same = refused.iter().all(|(_, error)| error.message == refused[0].1.message);
    let names: Vec<String> = refused.iter().map(|(candidate, _)| candidate.told()).collect();
    let (_, error) = refused.swap_remove(decisive);
    let message = match number {
        1 => error.message,
        // A value that breaks a rule is refused for every candidate alike.
        _ if same => format!("{} (for each of {})", error.message.trim(), names.join("; ")),
        _ => format!("none of the {number} candidates was accepted:{}", told.concat()),
    };
    ApiError { message, ..error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tf_provider_rs::Diagnostic;

    fn texts(items: &[&str]) -> Vec<String> {
        items.iter().map(|item| (*item).to_owned()).collect()
    }

    fn answer(status: u16, message: &str) -> ApiError {
        ApiError::answered("createPod", status, "Bad Request", message.to_owned())
    }

    #[test]
    fn the_first_type_is_tried_everywhere_before_the_second() {
        let (gpus, centers) = (texts(&["H100", "A100"]), texts(&["US", "EU"]));
        let told = |gpus, centers| -> Vec<String> {
            candidates(gpus, centers).iter().map(Candidate::told).collect()
        };
        assert_eq!(told(&gpus, &centers), ["H100 in US", "H100 in EU", "A100 in US", "A100 in EU"]);
        assert_eq!(told(&[], &centers), ["US", "EU"]);
        assert_eq!(candidates(&gpus[..1], &[])[0].data_centers(), json!([]));
    }

    #[tokio::test]
    async fn a_candidate_that_is_refused_is_followed_by_the_next() {
        let gpus = texts(&["H100", "A100", "L4"]);
        let all = candidates(&gpus, &[]);
        let mut tried = Vec::new();
        let placed = place(&all, |candidate| {
            tried.push(candidate.gpu.unwrap_or_default().to_owned());
            let answer = match tried.len() {
                1 => Err(answer(500, "There are no instances currently available")),
                _ => Ok(candidate.gpu),
            };
            async { answer }
        });
        assert_eq!(placed.await, Ok(Some("A100")));
        assert_eq!(tried, ["H100", "A100"]);

        let mut calls = 0;
        let broke = place(&all, |_| {
            calls += 1;
            async { Err::<(), _>(answer(402, "insufficient balance")) }
        });
        assert_eq!(broke.await.unwrap_err().status, 402);
        assert_eq!(calls, 1, "no candidate can succeed without credit");
    }

    #[tokio::test]
    async fn candidates_that_are_all_refused_are_told_with_their_reasons() {
        let gpus = texts(&["H100", "A100"]);
        let all = candidates(&gpus, &[]);
        let refused = place(&all, |candidate| {
            let answer = match candidate.gpu {
                Some("H100") => answer(403, "access denied"),
                _ => answer(
                    400,
                    "There are no longer any instances available with the requested specifications.",
                ),
            };
            async { Err::<(), _>(answer) }
        });
        let told = Diagnostic::from(refused.await.unwrap_err());
        let wrong = place(&all, |_| async { Err::<(), _>(answer(400, "disk is too large")) });
        let same = Diagnostic::from(wrong.await.unwrap_err());
        insta::assert_snapshot!(format!("{}\n{}\n----\n{}", told.summary, told.detail, same.detail));
    }
}
