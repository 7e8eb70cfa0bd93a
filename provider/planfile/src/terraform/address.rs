//! Addresses of resources and module instances.

/// A module instance: its calls and their instance keys, from the root.
pub(super) type Path = Vec<(String, String)>;

/// `module.a["x.y"].module.b` to its calls and keys.
pub(super) fn module_path(address: &str) -> Option<Path> {
    let steps = split(address);
    let steps: Vec<&String> = steps.iter().filter(|step| !step.is_empty()).collect();
    steps
        .chunks(2)
        .map(|pair| match pair {
            [word, call] if *word == "module" => {
                let (name, key) = keyed(call);
                Some((name.to_owned(), key.to_owned()))
            }
            _ => None,
        })
        .collect()
}

pub(super) fn prefix(path: &[(String, String)]) -> String {
    path.iter().map(|(call, key)| format!("module.{call}{key}.")).collect()
}

/// Splits at the dots that are not inside brackets.
pub(super) fn split(address: &str) -> Vec<String> {
    let (mut steps, mut depth, mut quoted, mut escaped) = (vec![String::new()], 0_u32, false, false);
    for c in address.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '[' if !quoted => depth += 1,
            ']' if !quoted => depth = depth.saturating_sub(1),
            '.' if !quoted && depth == 0 => {
                steps.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = steps.last_mut() {
            last.push(c);
        }
    }
    steps
}

/// `main["a"]` to `main` and `["a"]`.
pub(super) fn keyed(step: &str) -> (&str, &str) {
    step.find('[').map_or((step, ""), |at| step.split_at(at))
}
