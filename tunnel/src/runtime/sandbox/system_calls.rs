//! System calls: seccomp refuses what the process never needs and attacks do.
//!
//! A list of refused calls, not of permitted ones: the C library and the kernel change what they use, and a call that is refused by
//! mistake years later would break a tunnel.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

/// Refused to all: other processes, mounts, namespaces, modules, keys, and parts of the kernel with a large surface.
const NEVER: &[c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_shmat,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_personality,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_vmsplice,
    libc::SYS_remap_file_pages,
    libc::SYS_mbind,
    libc::SYS_set_mempolicy,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
];

/// Calls of one architecture.
#[cfg(target_arch = "x86_64")]
const NEVER_HERE: &[c_long] = &[
    libc::SYS_kexec_file_load,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
    libc::SYS__sysctl,
];
#[cfg(not(target_arch = "x86_64"))]
const NEVER_HERE: &[c_long] = &[];

/// Refused to a process that starts no program: programs, and other users.
const WITHOUT_PROGRAMS: &[c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
    libc::SYS_setgroups,
];
#[cfg(target_arch = "x86_64")]
const WITHOUT_PROGRAMS_HERE: &[c_long] = &[libc::SYS_fork, libc::SYS_vfork];
#[cfg(not(target_arch = "x86_64"))]
const WITHOUT_PROGRAMS_HERE: &[c_long] = &[];

/// Flags of `clone` that make namespaces.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];
/// The families of sockets that are used. Packet sockets of a namespace are made by its helper.
const FAMILIES: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
/// Writes as if typed on a terminal.
const TIOCSTI: u64 = 0x5412;
/// The bit of x32's system calls, which have the architecture of ordinary ones.
const X32: c_long = 0x4000_0000;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;
type Fallible<T> = Result<T, seccompiler::Error>;

/// Filters the calls of the calling thread, and of those that it starts. With `packets`, it may make packet sockets.
pub(super) fn filter(programs: bool, packets: bool) -> Result<(), String> {
    let apply = || -> Fallible<()> {
        apply_filter(&compile(refused(programs, packets)?, libc::EPERM)?)?;
        // Its flags are in memory, which a filter cannot read. The C library then uses `clone`.
        apply_filter(&compile(always(&[libc::SYS_clone3]), libc::ENOSYS)?)
    };
    apply().map_err(|error| error.to_string())
}

fn compile(rules: Rules, error: i32) -> Fallible<BpfProgram> {
    let target = TargetArch::try_from(std::env::consts::ARCH)?;
    let action = SeccompAction::Errno(error.unsigned_abs());
    Ok(SeccompFilter::new(rules, SeccompAction::Allow, action, target)?.try_into()?)
}

/// The refused calls.
fn refused(programs: bool, packets: bool) -> Fallible<Rules> {
    let mut rules = always(NEVER);
    rules.extend(always(NEVER_HERE));
    if !programs {
        rules.extend(always(WITHOUT_PROGRAMS));
        rules.extend(always(WITHOUT_PROGRAMS_HERE));
    }
    let mut clone = Vec::new();
    for flag in NAMESPACES {
        clone.push(rule(&[(0, has(flag), flag)])?);
    }
    if !programs {
        // A thread is no program.
        clone.push(rule(&[(0, has(libc::CLONE_THREAD), 0)])?);
    }
    conditional(&mut rules, libc::SYS_clone, &clone);
    let families = FAMILIES.into_iter().chain(packets.then_some(libc::AF_PACKET));
    let others: Vec<_> = families.map(|family| (0, SeccompCmpOp::Ne, family)).collect();
    conditional(&mut rules, libc::SYS_socket, &[rule(&others)?]);
    conditional(
        &mut rules,
        libc::SYS_ioctl,
        &[SeccompRule::new(vec![SeccompCondition::new(
            1,
            SeccompCmpArgLen::Dword,
            SeccompCmpOp::Eq,
            TIOCSTI,
        )?])?],
    );
    // Memory that was written never becomes code.
    let both = libc::PROT_WRITE | libc::PROT_EXEC;
    conditional(&mut rules, libc::SYS_mmap, &[rule(&[(2, has(both), both)])?]);
    let code = [rule(&[(2, has(libc::PROT_EXEC), libc::PROT_EXEC)])?];
    if !programs {
        conditional(&mut rules, libc::SYS_mprotect, &code);
        conditional(&mut rules, libc::SYS_pkey_mprotect, &code);
    }
    Ok(rules)
}

fn always(calls: &[c_long]) -> Rules {
    calls.iter().flat_map(|call| numbers(*call)).map(|number| (number, Vec::new())).collect()
}

fn conditional(rules: &mut Rules, call: c_long, of: &[SeccompRule]) {
    rules.extend(numbers(call).map(|number| (number, of.to_vec())));
}

/// The numbers of a call.
fn numbers(call: c_long) -> impl Iterator<Item = i64> {
    let also = cfg!(target_arch = "x86_64").then_some(call | X32);
    std::iter::once(call).chain(also)
}

fn has(bits: i32) -> SeccompCmpOp {
    SeccompCmpOp::MaskedEq(u64::from(bits.cast_unsigned()))
}

/// A rule whose conditions all hold: argument, comparison, value.
fn rule(conditions: &[(u8, SeccompCmpOp, i32)]) -> Fallible<SeccompRule> {
    let mut made = Vec::new();
    for (argument, comparison, value) in conditions {
        let value = u64::from(value.cast_unsigned());
        made.push(SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, comparison.clone(), value)?);
    }
    Ok(SeccompRule::new(made)?)
}
