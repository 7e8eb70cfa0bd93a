//! The help is complete, its examples are accepted, and keys in arguments are refused.

use clap::CommandFactory as _;

use super::*;

fn help(of: &str) -> String {
    let mut command = Cli::command();
    let command = if of.is_empty() { &mut command } else { command.find_subcommand_mut(of).unwrap() };
    command.clone().term_width(100).render_long_help().to_string()
}

/// All commands that users see, with their full names.
fn visible() -> Vec<(String, clap::Command)> {
    let mut root = Cli::command();
    root.build();
    let mut rest = vec![("warren-tunnel".to_owned(), root)];
    let mut found = Vec::new();
    while let Some((name, command)) = rest.pop() {
        let below =
            command.get_subcommands().filter(|below| !below.is_hide_set() && below.get_name() != "help");
        rest.extend(below.map(|below| (format!("{name} {}", below.get_name()), below.clone())));
        found.push((name, command));
    }
    found
}

#[test]
fn every_command_and_argument_has_help_and_every_command_has_examples() {
    let commands = visible();
    assert!(commands.len() > 20, "{}", commands.len());
    for (name, command) in &commands {
        assert!(command.get_about().is_some(), "{name}: no description");
        let help = command.clone().render_long_help().to_string();
        assert!(help.contains("\nExamples:\n"), "{name}: no examples");
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            let text = argument.get_help().map(ToString::to_string).unwrap_or_default();
            assert!(!text.is_empty(), "{name}: no help for {}", argument.get_id());
            assert!(!text.ends_with('.'), "{name}: the help of {} ends in a period", argument.get_id());
        }
    }
}

#[test]
fn every_example_is_accepted() {
    for (name, command) in visible() {
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let (_, examples) = text.split_once("Examples:\n").unwrap();
        for line in examples.lines() {
            assert!(line.len() <= 100 && (line.is_empty() || line.starts_with("  ")), "{name}: {line}");
        }
        let commands: Vec<&str> =
            examples.lines().map(str::trim).filter(|line| line.starts_with("warren-tunnel ")).collect();
        assert!(commands.iter().any(|command| command.contains(&name)), "{name}: {examples}");
        for part in commands.iter().flat_map(|command| command.split(" && ")) {
            let words = part.split('<').next().unwrap().split_whitespace();
            if let Err(error) = Cli::try_parse_from(words) {
                panic!("{name}: {part}: {error}");
            }
        }
    }
}

#[test]
fn help_is_as_documented() {
    Cli::command().debug_assert();
    for of in [
        "",
        "agent",
        "exec",
        "gateway",
        "topology",
        "token",
        "status",
        "ping",
        "netcheck",
        "reload",
        "sync",
        "fetch",
        "logs",
        "attach-volume",
        "genkey",
        "pubkey",
        "doctor",
    ] {
        insta::assert_snapshot!(format!("help_{of}"), help(of));
    }
}

#[test]
fn a_key_in_the_argument_list_is_refused_and_not_repeated() {
    let key = "qOV1PxhHpRWQrXlTI0I4QKMKVJ2TWMRwGQ3qRtT7XXw=";
    for arguments in [&["agent", "--private-key", key][..], &["pubkey", key]] {
        let cli = Cli::try_parse_from(["warren-tunnel"].iter().chain(arguments)).unwrap();
        assert!(!format!("{cli:?}").contains(key));
        insta::assert_snapshot!("refused_key", cli.refuse_keys().unwrap_err());
    }
}

#[test]
fn a_token_id_may_begin_with_a_hyphen() {
    let id = warren_wire::token::TokenId::from_random([0xf8; 16]).to_string();
    assert!(id.starts_with('-'));
    for words in [["revoke", &id, "--peers"], ["revoke", "--peers", &id]] {
        let cli = Cli::try_parse_from(["warren-tunnel", "token"].iter().chain(&words)).unwrap();
        let Command::Token(TokenCommand::Revoke { id: parsed, peers, .. }) = cli.command else {
            panic!("revoke")
        };
        assert_eq!((parsed.to_string(), peers), (id.clone(), true));
    }
    let refused = Cli::try_parse_from(["warren-tunnel", "token", "revoke", "--peer"]).unwrap_err();
    insta::assert_snapshot!("revoke_without_id", refused);
}
