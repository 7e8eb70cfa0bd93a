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
}
