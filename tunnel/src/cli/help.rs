//! The text after the options of each command: details and examples. A test parses every example.

pub(super) const MAIN: &str = "\
Examples:
  warren-tunnel doctor                                # check this machine
  warren-tunnel agent --interface wg0                 # run /etc/wireguard/wg0.conf
  warren-tunnel exec --config pod.conf -- python train.py
  warren-tunnel gateway --config /etc/warren/gateway.toml";

pub(super) const AGENT: &str = "\
Options take precedence over environment variables (WARREN_*), which take precedence over the
configuration file.

With an enrolment token (WARREN_TOKEN or --token-file), no configuration file is needed. The agent
generates a key, enrols with a gateway that the token names, and fails over to another gateway if
that one stops answering.

The private key comes from --private-key-file, WARREN_PRIVATE_KEY or the file's PrivateKey, in this
order. It is not accepted as an argument, because every user of the machine can read arguments.

Signals: SIGTERM and SIGINT undo all changes and exit; SIGHUP reloads the configuration file.

Examples:
  warren-tunnel agent --interface wg0                 # run /etc/wireguard/wg0.conf
  warren-tunnel agent --config pod.conf --device user # proxies instead of an interface
  warren-tunnel agent --token-file token --state /var/lib/warren
  warren-tunnel agent --config pod.conf --forward 127.0.0.1:5432=db.internal:5432
  warren-tunnel agent --config wg0.conf --cleanup     # undo the changes of a killed agent";

pub(super) const EXEC: &str = "\
The command starts once a peer has answered. If the tunnel has no interface, the command finds the
proxies in HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, in upper and lower case. They listen on
free ports unless --socks5 or --http-proxy is given. Standard input and output belong to the command.

Signals are forwarded to the command; use `warren-tunnel reload` to reload the configuration. As
process 1 of a container, exec also reaps orphaned processes.

Exit code: that of the command, or 128 plus the number of the signal that ended it. 125: the tunnel
did not come up. 126: the command cannot be run. 127: the command was not found.

Examples:
  warren-tunnel exec --config pod.conf -- python train.py
  warren-tunnel exec --token-file token -- curl http://10.0.0.5/
  warren-tunnel exec --config pod.conf --wait 0 -- sh # start without waiting for a peer";

pub(super) const GATEWAY: &str = "\
Without a subcommand, this runs a gateway in the foreground. It needs no privileges: traffic of pods
is forwarded through sockets of this process, or by the kernel where that is possible. With a
subcommand, it sends a request to a running gateway. See docs/gateway.md.

Signals: SIGTERM and SIGINT stop the gateway; SIGHUP reloads its file: groups, sites, token keys,
gateways and limits.

Examples:
  warren-tunnel gateway --config /etc/warren/gateway.toml
  warren-tunnel gateway check gateway.toml
  warren-tunnel gateway status
  warren-tunnel gateway drain";

pub(super) const GATEWAY_CHECK: &str = "\
Examples:
  warren-tunnel gateway check                         # checks /etc/warren/gateway.toml
  warren-tunnel gateway check gateway.toml";

pub(super) const GATEWAY_STATUS: &str = "\
Examples:
  warren-tunnel gateway status
  warren-tunnel gateway status --json";

pub(super) const GATEWAY_PEERS: &str = "\
Examples:
  warren-tunnel gateway peers
  warren-tunnel gateway peers --json";

pub(super) const GATEWAY_EVICT: &str = "\
Examples:
  warren-tunnel gateway evict xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=
  warren-tunnel gateway evict xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg= --for 7d";

pub(super) const GATEWAY_READMIT: &str = "\
Examples:
  warren-tunnel gateway readmit xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=";

pub(super) const GATEWAY_DRAIN: &str = "\
Examples:
  warren-tunnel gateway drain                         # before maintenance
  warren-tunnel gateway drain --stay                  # only refuse new peers
  warren-tunnel gateway drain --undo                  # after maintenance";

pub(super) const GATEWAY_RELOAD: &str = "\
Examples:
  warren-tunnel gateway check && warren-tunnel gateway reload";

pub(super) const GATEWAY_IDENTITY: &str = "\
Examples:
  warren-tunnel gateway identity --key gateway.key --certificate gateway.tls.pem";

pub(super) const TOPOLOGY: &str = "\
The description is TOML:

  topology = \"star\"                       # star, mesh or ring
  hub = \"aws\"                             # the center of a star
  [[sites]]
  name = \"aws\"
  key = \"...\"                             # printed by `warren-tunnel gateway identity`
  endpoint = \"gw.aws.example.com:51820\"   # omit it if other sites cannot reach the gateway
  addresses = [\"10.100.0.1\"]              # source addresses of its gateway
  prefixes = [\"172.16.0.0/16\"]            # networks behind it

Examples:
  warren-tunnel topology sites.toml
  warren-tunnel topology sites.toml --site aws";

pub(super) const TOKEN: &str = "\
Examples:
  warren-tunnel token keygen --out signing.key
  warren-tunnel token create --group gpu --valid 12h --key-file signing.key --out token
  warren-tunnel token inspect token";

pub(super) const TOKEN_CREATE: &str = "\
The signing key comes from --key-file or WARREN_SIGNING_KEY.

Examples:
  warren-tunnel token create --group gpu --valid 12h --key-file signing.key --out token
  warren-tunnel token create --config gateway.toml --group gpu --uses 8 --key-file signing.key";

pub(super) const TOKEN_INSPECT: &str = "\
The token comes from FILE, WARREN_TOKEN or standard input.

Examples:
  warren-tunnel token inspect token
  warren-tunnel token inspect token --config gateway.toml # verify the signature too";

pub(super) const TOKEN_KEYGEN: &str = "\
Examples:
  warren-tunnel token keygen --out signing.key";

pub(super) const TOKEN_REVOKE: &str = "\
Examples:
  warren-tunnel token revoke u1k3V0nqS9mYw2xZc8aHbQ
  warren-tunnel token revoke u1k3V0nqS9mYw2xZc8aHbQ --peers";

pub(super) const STATUS: &str = "\
Examples:
  warren-tunnel status
  warren-tunnel status wg0 --json --interval 0        # one reading, without rates";

pub(super) const RELOAD: &str = "\
Examples:
  warren-tunnel reload                                # the only running agent
  warren-tunnel reload wg0";

pub(super) const FETCH: &str = "\
If a value is missing or invalid, fetch reports it and retries until all values are valid. The files
are readable only by their owner, are replaced atomically, and are not touched if nothing changed.

Credentials are those of the machine: the role of an EC2 instance (IMDSv2) or the service account of
a Google Cloud instance; or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. For emulators, set
AWS_ENDPOINT_URL_SSM, AWS_EC2_METADATA_SERVICE_ENDPOINT,
CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER or GCE_METADATA_HOST.

Examples:
  warren-tunnel fetch                                 # reads /etc/warren/fetch.toml
  warren-tunnel fetch --config fetch.toml --give-up-after 300";

pub(super) const GENKEY: &str = "\
Examples:
  warren-tunnel genkey --out wg0.key                  # a new file of mode 0600
  warren-tunnel genkey | warren-tunnel pubkey";

pub(super) const GENPSK: &str = "\
Examples:
  warren-tunnel genpsk --out wg0.psk                  # a new file of mode 0600";

pub(super) const PUBKEY: &str = "\
Examples:
  warren-tunnel pubkey < wg0.key";

pub(super) const DOCTOR: &str = "\
Exit code: 0 no problems, 1 a tunnel works with limitations, 2 a tunnel cannot run.

Examples:
  warren-tunnel doctor
  warren-tunnel doctor --config pod.conf              # test the path to its peers too";
