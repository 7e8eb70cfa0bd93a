//! Environment variables for proxies (curl(1), libcurl-env(3)). There is no standard, so upper and lower case are both set.

use std::net::SocketAddr;

use crate::agent::proxies::Proxies;

/// Hosts that bypass the proxy: this machine, and the link-local metadata services of clouds.
const DIRECT: &[&str] =
    &["localhost", "127.0.0.1", "::1", "169.254.169.254", "169.254.170.2", "metadata.google.internal"];

/// The proxy variables for a program. TLS passes through the proxies unchanged, so no variables for certificates are needed.
///
/// `get` reads the current environment; existing `NO_PROXY` entries are kept.
pub(super) fn with(proxies: &Proxies, get: impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let user = proxies.credentials.as_ref().map(|credentials| format!("{}@", *credentials.userinfo()));
    let user = user.unwrap_or_default();
    let url = |scheme: &str, at: SocketAddr| format!("{scheme}://{user}{at}");
    let http = proxies.http.map(|at| url("http", at));
    // socks5h: the proxy resolves names, since only it knows the tunnel's names.
    let socks = proxies.socks5.map(|at| url("socks5h", at));
    let all = socks.or_else(|| http.clone());
    let mut variables = Vec::new();
    for (name, value) in [("HTTPS_PROXY", &http), ("HTTP_PROXY", &http), ("ALL_PROXY", &all)] {
        if let Some(value) = value {
            variables.push((name, value.clone()));
        }
    }
    if !variables.is_empty() {
        let before = get("NO_PROXY").or_else(|| get("no_proxy")).unwrap_or_default();
        let mut except: Vec<&str> =
            before.split(',').map(str::trim).filter(|entry| !entry.is_empty()).collect();
        except.extend(DIRECT.iter().filter(|entry| !before.split(',').any(|known| known.trim() == **entry)));
        variables.push(("NO_PROXY", except.join(",")));
    }
    let both =
        |(name, value): (&str, String)| [(name.to_owned(), value.clone()), (name.to_lowercase(), value)];
    variables.into_iter().flat_map(both).collect()
}

/// Sources of credentials that come before the gateway's where clients of AWS and of Google Cloud look for them. Files of
/// profiles come before it anyway.
const OWN_AWS: [&str; 5] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
];
const GOOGLE: &str = "GOOGLE_APPLICATION_CREDENTIALS";

/// Those of the variables for the gateway's credentials that replace nothing of the user.
pub(in crate::commands) fn credentials(
    variables: Vec<(String, String)>,
    get: &dyn Fn(&str) -> Option<String>,
) -> Vec<(String, String)> {
    let aws = OWN_AWS.iter().any(|name| get(name).is_some_and(|value| !value.is_empty()));
    let home = get("HOME").unwrap_or_default();
    let known = std::path::Path::new(&home).join(".config/gcloud/application_default_credentials.json");
    let google = get(GOOGLE).is_some_and(|value| !value.is_empty()) || known.exists();
    let keep = |name: &str| if name == GOOGLE { !google } else { !(aws && name.starts_with("AWS_")) };
    variables.into_iter().filter(|(name, _)| keep(name)).collect()
}

#[cfg(test)]
mod tests {
    use warren_proxy::Credentials;

    use super::*;

    fn text(proxies: &Proxies, no_proxy: &str) -> String {
        let given = (!no_proxy.is_empty()).then(|| no_proxy.to_owned());
        let variables = with(proxies, |name| given.clone().filter(|_| name == "no_proxy"));
        variables.iter().map(|(name, value)| format!("{name}={value}\n")).collect()
    }

    #[test]
    fn programs_find_the_proxies() {
        let mut proxies = Proxies {
            socks5: Some("127.0.0.1:1080".parse().unwrap()),
            http: Some("127.0.0.1:3128".parse().unwrap()),
            ..Proxies::default()
        };
        insta::assert_snapshot!("both", text(&proxies, " .corp.example, localhost,"));
        proxies.socks5 = None;
        proxies.credentials = Some(Credentials::parse("ada:p@ss/wörd").unwrap());
        insta::assert_snapshot!("http_alone", text(&proxies, ""));
        proxies.http = None;
        assert_eq!(text(&proxies, "x"), "");
    }

    #[test]
    fn credentials_of_the_user_win() {
        let all = [
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
            GOOGLE,
            "WARREN_TRANSFERS_URL",
        ];
        let all: Vec<(String, String)> = all.map(|name| (name.to_owned(), "x".to_owned())).into();
        let kept = |own: &str| {
            let get = |name: &str| (name == own).then(|| "1".to_owned());
            credentials(all.clone(), &get).len()
        };
        assert_eq!([kept(""), kept("AWS_PROFILE"), kept("AWS_ACCESS_KEY_ID"), kept(GOOGLE)], [4, 2, 2, 3]);
    }
}
