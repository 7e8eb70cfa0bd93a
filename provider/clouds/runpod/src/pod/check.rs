//! Checks that reject a configuration during the plan, before RunPod does.

use std::sync::OnceLock;

use regex::Regex;
use tf_provider_rs::{Attr, Change, Diagnostics, Path, Value};
use warren_managed::sets;

use super::schema::Pod;

/// Checks combinations of attributes, ignoring unknown values.
pub(super) fn pod(config: &Pod, diagnostics: &mut Diagnostics) {
    let (gpu, cpu) = (&config.gpu, &config.cpu);
    if gpu.is_known() && cpu.is_known() || gpu.is_null() && cpu.is_null() {
        let detail = "A pod has either GPUs or a CPU-only machine. Set exactly one of `gpu` and `cpu`.";
        diagnostics.error_at(Path::of("gpu"), "Exactly one of `gpu` and `cpu` is required", detail);
    }
    if config.persistent_volume.is_known() && config.network_volume.is_known() {
        let detail = "A pod mounts at most one volume. Keep `network_volume` for data that must outlive the pod, \
                      and remove the other.";
        diagnostics.error_at(
            Path::of("persistent_volume"),
            "Both `persistent_volume` and `network_volume` are set",
            detail,
        );
    }
    if config.persistent_volume.is_known() && cpu.is_known() {
        let detail =
            "RunPod offers persistent volumes only for pods with a GPU. Use `network_volume` instead.";
        diagnostics.error_at(Path::of("persistent_volume"), "`persistent_volume` requires a GPU", detail);
    }
    if config.global_networking.is_true() && cpu.is_known() {
        let detail =
            "RunPod offers global networking only for pods with an NVIDIA GPU. Remove `global_networking`.";
        diagnostics.error_at(Path::of("global_networking"), "`global_networking` requires a GPU", detail);
    }
    if let Some(gpu) = gpu.known()
        && gpu.min_cuda_version.is_known()
        && !sets::known(&gpu.allowed_cuda_versions).is_empty()
    {
        let detail = "Set either `allowed_cuda_versions` for exact versions or `min_cuda_version` for a minimum, not both.";
        diagnostics.error_at(
            Path::of("gpu").attribute("min_cuda_version"),
            "Conflicting CUDA versions",
            detail,
        );
    }
}

/// Adds the attributes whose change replaces the pod, beyond those marked in the schema.
pub(super) fn replaced(change: &mut Change<Pod>, diagnostics: &mut Diagnostics) {
    let Some(prior) = &change.prior else { return };
    let planned = &change.planned;
    let mut paths = Vec::new();
    if let (Some(place), Some(wanted)) =
        (prior.data_center_id.known(), sets::all_known(&planned.data_center_ids))
        && !wanted.is_empty()
        && !wanted.contains(place)
    {
        paths.push(Path::of("data_center_ids"));
    }
    if prior.persistent_volume.is_null() != planned.persistent_volume.is_null() {
        paths.push(Path::of("persistent_volume"));
    }
    let stopped = prior.desired_status.text() != "RUNNING";
    if stopped && planned.shall_run() && planned.when_stopped.text() == "replace" {
        paths.push(Path::of("desired_status"));
    }
    if let (Attr::Known(have), Attr::Known(want)) = (&prior.persistent_volume, &planned.persistent_volume)
        && want.size.known() < have.size.known()
        && want.size.is_known()
    {
        let detail = "A persistent volume can grow but not shrink. For a smaller volume, recreate the pod with \
                      `terraform apply -replace=ADDRESS`, which deletes the data on the volume.";
        diagnostics.error_at(
            Path::of("persistent_volume").attribute("size"),
            "Persistent volume cannot shrink",
            detail,
        );
    }
    change.requires_replace.extend(paths);
}

pub(super) fn ports(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    for port in value.as_slice().into_iter().flatten().filter_map(Value::as_str) {
        let good = port.split_once('/').is_some_and(|(number, protocol)| {
            number.parse::<u16>().is_ok_and(|number| number > 0) && matches!(protocol, "http" | "tcp")
        });
        if !good {
            diagnostics.error_at(
                path.clone(),
                "Invalid port",
                format!("{port:?} is not a port that RunPod can expose; UDP is not supported. Use a value such as \
                         `8888/http` or `22/tcp`."),
            );
        }
    }
}

pub(super) fn cuda_versions(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    value.as_slice().into_iter().flatten().for_each(|version| cuda_version(version, path, diagnostics));
}

pub(super) fn cuda_version(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    static PATTERN: OnceLock<Regex> = OnceLock::new();
    let pattern = PATTERN.get_or_init(|| {
        #[expect(clippy::unwrap_used, reason = "a constant pattern")]
        Regex::new(r"^\d+\.\d+$").unwrap()
    });
    if let Some(text) = value.as_str()
        && !pattern.is_match(text)
    {
        let detail = format!("{text:?} is not a CUDA version. Use major and minor version, such as `12.8`.");
        diagnostics.error_at(path.clone(), "Invalid CUDA version", detail);
    }
}

pub(super) fn power_of_two(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let number = match value {
        Value::Number(number) => number.to_u64(),
        _ => None,
    };
    if !number.is_some_and(|number| number >= 2 && number.is_power_of_two()) {
        let detail = format!("`{path}` must be a power of two, such as 2, 4, 8, 16 or 32.");
        diagnostics.error_at(path.clone(), "Invalid number of vCPUs", detail);
    }
}

pub(super) fn path(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    if !text.starts_with('/') || text == "/" {
        let detail = format!("{text:?} is not an absolute path below `/`. Use a path such as `/workspace`.");
        diagnostics.error_at(path.clone(), "Invalid mount path", detail);
    }
}
