//! Checks that reject a configuration during the plan, before RunPod does.

use tf_provider_rs::{Attr, Change, Diagnostics, Path};
use warren_managed::sets;

use super::model::{Pod, Status, WhenStopped};
use crate::gpu::no_longer_accepted;

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
    if let Some(gpu) = gpu.known() {
        gpu.choice.check(diagnostics);
    }
    if let (Some(cpu), Some(&disk)) = (cpu.known(), config.disk.known())
        && let Some(most) = cpu.disk_limit()
        && disk > most
    {
        let (id, vcpus) =
            (cpu.id.known().map_or("", String::as_str), cpu.vcpu_count.known().copied().unwrap_or(0));
        let detail = format!(
            "RunPod allows at most {most} GB of container disk for `{id}` with {vcpus} vCPUs, and the pod requests \
             {disk} GB. Lower `disk`, raise `cpu.vcpu_count`, or keep the data on a `network_volume`."
        );
        diagnostics.error_at(Path::of("disk"), "Container disk too large for the CPU flavor", detail);
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

/// Plans the size of the container disk where the configuration has none: the CPU flavor may allow less than the default.
pub(super) fn default_disk(change: &mut Change<Pod>) {
    const DEFAULT: i64 = 50;
    if !change.config.disk.is_null() {
        return;
    }
    change.planned.disk = match &change.planned.cpu {
        Attr::Null => DEFAULT.into(),
        Attr::Known(cpu) if cpu.id.is_known() && cpu.vcpu_count.is_known() => {
            cpu.disk_limit().map_or(DEFAULT, |most| most.min(DEFAULT)).into()
        }
        Attr::Known(_) | Attr::Unknown => Attr::Unknown,
    };
}

/// Adds the attributes whose change replaces the pod, beyond those marked in the schema.
pub(super) fn replaced(change: &mut Change<Pod>, diagnostics: &mut Diagnostics) {
    let Some(prior) = &change.prior else { return };
    let planned = &change.planned;
    let mut paths = no_longer_accepted(
        (&prior.data_center_id, &planned.data_center_ids),
        (prior.gpu.known().map(|gpu| &gpu.choice), planned.gpu.known().map(|gpu| &gpu.choice)),
    );
    if prior.persistent_volume.is_null() != planned.persistent_volume.is_null() {
        paths.push(Path::of("persistent_volume"));
    }
    let stopped = prior.desired_status != Status::Running.into();
    if stopped && planned.shall_run() && planned.when_stopped == WhenStopped::Replace.into() {
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
