//! What a plan refuses before RunPod does.

use std::sync::OnceLock;

use regex::Regex;
use tf_provider_rs::{Attr, Change, Diagnostics, Path, Value};
use warren_managed::sets;

use super::schema::Pod;

/// Checks between attributes; silent on unknowns.
pub(super) fn pod(config: &Pod, diagnostics: &mut Diagnostics) {
    let (gpu, cpu) = (&config.gpu, &config.cpu);
    if gpu.is_known() && cpu.is_known() || gpu.is_null() && cpu.is_null() {
        let detail = "A pod has either `gpu` or `cpu`: set one of the two.";
        diagnostics.error_at(Path::of("gpu"), "Neither or both of gpu and cpu", detail);
    }
    if config.persistent_volume.is_known() && config.network_volume.is_known() {
        let detail = "A pod mounts one of `persistent_volume` and `network_volume`. Data that must outlive the pod belongs \
                      on a network volume.";
        diagnostics.error_at(Path::of("persistent_volume"), "Two volumes", detail);
    }
    if config.persistent_volume.is_known() && cpu.is_known() {
        let detail = "Pods without a GPU have no `persistent_volume`: use a `network_volume`.";
        diagnostics.error_at(Path::of("persistent_volume"), "No volume of the machine", detail);
    }
    if config.global_networking.is_true() && cpu.is_known() {
        let detail = "RunPod gives `global_networking` to pods with an NVIDIA GPU alone.";
        diagnostics.error_at(Path::of("global_networking"), "No global networking", detail);
    }
    if let Some(gpu) = gpu.known()
        && gpu.min_cuda_version.is_known()
        && !sets::known(&gpu.allowed_cuda_versions).is_empty()
    {
        let detail =
            "Set `allowed_cuda_versions`, an exact choice, or `min_cuda_version`, a floor, but not both.";
        diagnostics.error_at(Path::of("gpu").attribute("min_cuda_version"), "Two choices of CUDA", detail);
    }
}

/// What makes a new pod of a change, beyond what the schema says.
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
        let detail = "The storage of a machine grows and does not shrink. To have less, make the pod anew \
                      (`terraform apply -replace=ADDRESS`); what it holds is lost then.";
        diagnostics.error_at(
            Path::of("persistent_volume").attribute("size"),
            "A volume cannot shrink",
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
                "Not a port of a pod",
                format!("{port:?} is no port: write `8888/http` or `22/tcp`. RunPod passes no UDP."),
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
        let detail = format!("{text:?} is no version: write major and minor, such as `12.8`.");
        diagnostics.error_at(path.clone(), "Not a CUDA version", detail);
    }
}

pub(super) fn power_of_two(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let number = match value {
        Value::Number(number) => number.to_u64(),
        _ => None,
    };
    if !number.is_some_and(|number| number >= 2 && number.is_power_of_two()) {
        let detail = format!("`{path}` is a power of two from 2 on: 2, 4, 8, 16, 32.");
        diagnostics.error_at(path.clone(), "Number of CPUs not possible", detail);
    }
}

pub(super) fn path(value: &Value, path: &Path, diagnostics: &mut Diagnostics) {
    let text = value.as_str().unwrap_or_default();
    if !text.starts_with('/') || text == "/" {
        let detail =
            format!("{text:?} is no path in the container: write an absolute one, such as `/workspace`.");
        diagnostics.error_at(path.clone(), "Not a mount path", detail);
    }
}
