//! The text after the options of each command: details and examples. A test parses every example.

pub(super) const MAIN: &str = "\
Examples:
  # Check this machine
  warren-tunnel doctor

  # Run the tunnel of /etc/wireguard/wg0.conf
  warren-tunnel agent --interface wg0

  # Run a command with a tunnel
  warren-tunnel exec --config pod.conf -- python train.py

  # Run a gateway
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
  # Run the tunnel of /etc/wireguard/wg0.conf
  warren-tunnel agent --interface wg0

  # Run a tunnel without privileges, with proxies instead of an interface
  warren-tunnel agent --config pod.conf --device user

  # Enrol with a token, and keep the address after a restart
  warren-tunnel agent --token-file token --state /var/lib/warren

  # Forward a local port to a host behind the tunnel
  warren-tunnel agent --config pod.conf --forward 127.0.0.1:5432=db.internal:5432

  # Undo the changes of a killed agent
  warren-tunnel agent --config wg0.conf --cleanup";

pub(super) const EXEC: &str = "\
The command starts once a peer has answered. If the tunnel has no interface, the command finds the
proxies in HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, in upper and lower case. They listen on
free ports unless --socks5 or --http-proxy is given. Standard input and output belong to the command.

Programs that open plain sockets, such as torchrun or MPI, need --transparent in a pod without an
interface. The command then runs in the tunnel's network: it has the tunnel's addresses, may listen on
them, and resolves names by the agent. Its hostname resolves to them too. Destinations outside the
tunnel are reached through the proxy in HTTPS_PROXY and HTTP_PROXY alone. If an interface was
requested, --transparent changes nothing.

Signals are forwarded to the command; use `warren-tunnel reload` to reload the configuration. As
process 1 of a container, exec also reaps orphaned processes.

Exit code: that of the command, or 128 plus the number of the signal that ended it. 125: the tunnel
did not come up. 126: the command cannot be run. 127: the command was not found.

Examples:
  # Run a command with a tunnel
  warren-tunnel exec --config pod.conf -- python train.py

  # Enrol with a token
  warren-tunnel exec --token-file token -- curl http://10.0.0.5/

  # Train across pods: plain sockets use the tunnel
  warren-tunnel exec --token-file token --transparent -- torchrun --nnodes 2 train.py

  # Start the command without waiting for a peer
  warren-tunnel exec --config pod.conf --wait 0 -- sh

  # Copy data into the pod first; --sync-out copies results back afterwards
  warren-tunnel exec --token-file token --sync-in s3://acme/data/=/data -- python train.py";

pub(super) const GATEWAY: &str = "\
Without a subcommand, this runs a gateway in the foreground. It needs no privileges: traffic of pods
is forwarded through sockets of this process, or by the kernel where that is possible. With a
subcommand, it sends a request to a running gateway. See docs/gateway.md.

Signals: SIGTERM and SIGINT stop the gateway; SIGHUP reloads its file: groups, sites, token keys,
gateways and limits.

Examples:
  # Run a gateway
  warren-tunnel gateway --config /etc/warren/gateway.toml

  # Check a configuration file
  warren-tunnel gateway check gateway.toml

  # Show the state of the running gateway and its peers
  warren-tunnel gateway status
  warren-tunnel gateway peers";

pub(super) const GATEWAY_CHECK: &str = "\
Examples:
  # Check /etc/warren/gateway.toml
  warren-tunnel gateway check

  # Check another file
  warren-tunnel gateway check gateway.toml";

pub(super) const GATEWAY_STATUS: &str = "\
Examples:
  # Show the state of the gateway
  warren-tunnel gateway status

  # Print it as JSON
  warren-tunnel gateway status --json";

pub(super) const GATEWAY_PEERS: &str = "\
Examples:
  # List all leases
  warren-tunnel gateway peers

  # Print them as JSON
  warren-tunnel gateway peers --json";

pub(super) const GATEWAY_EVICT: &str = "\
Examples:
  # Evict a peer for 24 hours
  warren-tunnel gateway evict xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=

  # Evict a peer for a week
  warren-tunnel gateway evict xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg= --for 7d

  # Evict all peers of a token
  warren-tunnel gateway evict --token AQEBAQEBAQEBAQEBAQEBAQ";

pub(super) const GATEWAY_READMIT: &str = "\
Examples:
  # Unblock a peer before its eviction expires
  warren-tunnel gateway readmit xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=";

pub(super) const GATEWAY_DRAIN: &str = "\
Examples:
  # Move all peers to other gateways before maintenance
  warren-tunnel gateway drain

  # Only refuse new peers
  warren-tunnel gateway drain --stay

  # Accept new peers again
  warren-tunnel gateway drain --undo";

pub(super) const GATEWAY_RELOAD: &str = "\
Examples:
  # Check the file, then reload it
  warren-tunnel gateway check && warren-tunnel gateway reload";

pub(super) const GATEWAY_IDENTITY: &str = "\
Examples:
  # Print the entry of this gateway
  warren-tunnel gateway identity --key gateway.key --certificate gateway.tls.pem";

pub(super) const TOPOLOGY: &str = "\
The description is TOML:

  topology = \"star\"                       # star, mesh or ring
  hub = \"aws\"                             # only for a star
  [[sites]]
  name = \"aws\"
  key = \"...\"                             # printed by `warren-tunnel gateway identity`
  endpoint = \"gw.aws.example.com:51820\"   # omit it if other sites cannot reach the gateway
  addresses = [\"10.100.0.1\"]              # source addresses of its gateway
  prefixes = [\"172.16.0.0/16\"]            # networks behind it

Examples:
  # Print the configuration of all sites
  warren-tunnel topology sites.toml

  # Print the configuration of one site
  warren-tunnel topology sites.toml --site aws";

pub(super) const TOKEN: &str = "\
Examples:
  # Generate a signing key, and sign a token with it
  warren-tunnel token keygen --out signing.key
  warren-tunnel token create --group gpu --valid 12h --key-file signing.key --out token

  # Show the content of the token
  warren-tunnel token inspect token";

pub(super) const TOKEN_CREATE: &str = "\
The signing key comes from --key-file or WARREN_SIGNING_KEY.

Examples:
  # Create a token for one pod that starts within 12 hours
  warren-tunnel token create --group gpu --valid 12h --key-file signing.key --out token

  # Create a token for a job array of eight pods
  warren-tunnel token create --config gateway.toml --group gpu --uses 8 --key-file signing.key";

pub(super) const TOKEN_INSPECT: &str = "\
The token comes from FILE, WARREN_TOKEN or standard input.

Examples:
  # Show the content of a token
  warren-tunnel token inspect token

  # Verify its signature too
  warren-tunnel token inspect token --config gateway.toml";

pub(super) const TOKEN_KEYGEN: &str = "\
Examples:
  # Generate a signing key
  warren-tunnel token keygen --out signing.key";

pub(super) const TOKEN_REVOKE: &str = "\
Examples:
  # Revoke a token
  warren-tunnel token revoke u1k3V0nqS9mYw2xZc8aHbQ

  # Also end the leases of its peers
  warren-tunnel token revoke u1k3V0nqS9mYw2xZc8aHbQ --peers";

pub(super) const STATUS: &str = "\
Examples:
  # Show all tunnels of this user
  warren-tunnel status

  # Print one interface as JSON, without rates
  warren-tunnel status wg0 --json --interval 0";

pub(super) const PING: &str = "\
The agent sends the requests, so they need no privileges and no interface. It also resolves the
name: by the DNS server of the gateway if the name is in one of its private domains. If a rule
denies the destination, the gateway reports it as administratively prohibited. Ctrl-C ends the
command and prints the summary. At most 8 requests wait for an answer at the same time.

Exit code: 0 an answer came, 1 none came, 2 no request was sent: wrong arguments, no running
agent, an unknown name, or no route through the tunnel.

Examples:
  # Ping another pod by name
  warren-tunnel ping train-0.gpu.warren.internal

  # Send three full packets to a host behind the gateway
  warren-tunnel ping 10.0.0.5 --count 3 --size 1392

  # Print JSON, and choose one of several agents
  warren-tunnel ping 10.0.0.5 --count 3 --json --interface warren0";

pub(super) const NETCHECK: &str = "\
Measures the round trip to each gateway of a token, a configuration file or a running agent. Over UDP
it times WireGuard handshakes with a key of its own, and over TLS the handshakes of new connections.
It does not enrol, does not use up the token, and does not disturb a running agent.

The gateways are those of INTERFACE, else of --config, --token-file or WARREN_TOKEN, else of the only
running agent. The peers of a configuration that are not gateways answer only the key of the file,
which is used unless a running agent has it.

Exit code: 0 everything answers, 1 something does not answer, 2 nothing answers or nothing was
measured.

Examples:
  # Measure the gateways of the running agent, or of WARREN_TOKEN
  warren-tunnel netcheck

  # Measure the gateways of a token with ten probes each, and print JSON
  warren-tunnel netcheck --token-file token --count 10 --json

  # Measure the peers of a configuration
  warren-tunnel netcheck --config pod.conf";

pub(super) const RELOAD: &str = "\
Examples:
  # Reload the only running agent
  warren-tunnel reload

  # Reload the agent of an interface
  warren-tunnel reload wg0";

pub(super) const SYNC: &str = "\
Objects whose size and version are unchanged are skipped. Every object is compared with the checksum
that the store keeps. After an interruption, the same command continues without repeating completed
parts. A file has its final name only when it is complete. Patterns: `*` stays within a folder, `**`
crosses folders.

Requests use HTTPS_PROXY, else the HTTP proxy of a running agent without an interface, else the
machine's network. Credentials: AWS_ACCESS_KEY_ID or the keys of AWS_PROFILE, web identity, container
or instance role; GOOGLE_APPLICATION_CREDENTIALS, the default credentials of gcloud, or the instance's
service account. For emulators, set AWS_ENDPOINT_URL or STORAGE_EMULATOR_HOST.

With --watch, each file or folder directly below SOURCE is a checkpoint. It is uploaded once it is
complete, and its manifest, .warren-complete.json, last: a checkpoint without manifest is incomplete.
After SIGTERM the newest complete checkpoint goes first, within --grace.

Exit code: 0 done, 1 could not start, 3 some objects failed or were left, 130 or 143 interrupted.

Examples:
  # Download part of a dataset
  warren-tunnel sync s3://acme-datasets/llm/ /workspace/data --include '*.parquet'

  # Upload results, and list first what --delete would delete
  warren-tunnel sync /workspace/out gs://acme-results/run-7/ --delete --dry-run
  warren-tunnel sync /workspace/out gs://acme-results/run-7/ --delete

  # Upload checkpoints while they are written, and keep the newest three
  warren-tunnel sync /workspace/ckpt gs://acme-results/run-7/ --watch --keep 3";

pub(super) const FETCH: &str = "\
If a value is missing or invalid, fetch reports it and retries until all values are valid. The files
are readable only by their owner, are replaced atomically, and are not touched if nothing changed.

Credentials are those of the machine: the role of an EC2 instance (IMDSv2) or the service account of
a Google Cloud instance; or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. For emulators, set
AWS_ENDPOINT_URL_SSM, AWS_EC2_METADATA_SERVICE_ENDPOINT,
CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER or GCE_METADATA_HOST.

Examples:
  # Fetch the files of /etc/warren/fetch.toml
  warren-tunnel fetch

  # Give up after five minutes
  warren-tunnel fetch --config fetch.toml --give-up-after 300";

pub(super) const LOGS: &str = "\
Reads the journal of the units warren-*.service with journalctl and follows it. The log stream has the
ID of the instance as its name, and is created if it is missing. The position in the journal is saved
after CloudWatch Logs has accepted the entries before it, so a restart loses none.

Credentials are those of the instance's role, which needs logs:CreateLogStream and logs:PutLogEvents.

Examples:
  # Send logs to a log group
  warren-tunnel logs --group /warren/gateways";

pub(super) const ATTACH_VOLUME: &str = "\
Waits while another instance, which is being terminated, still uses the volume. Credentials are those
of the instance's role, which needs ec2:AttachVolume on the volume and on the instance.

Examples:
  # Print the device of the volume
  warren-tunnel attach-volume vol-0a1b2c3d4e5f60718";

pub(super) const GENKEY: &str = "\
Examples:
  # Write a key to a new file of mode 0600
  warren-tunnel genkey --out wg0.key

  # Print the public key of that file
  warren-tunnel pubkey < wg0.key";

pub(super) const GENPSK: &str = "\
Examples:
  # Write a key to a new file of mode 0600
  warren-tunnel genpsk --out wg0.psk";

pub(super) const PUBKEY: &str = "\
Examples:
  # Print the public key of a file
  warren-tunnel pubkey < wg0.key";

pub(super) const DOCTOR: &str = "\
Exit code: 0 no problems, 1 a tunnel works with limitations, 2 a tunnel cannot run.

Examples:
  # Check this machine
  warren-tunnel doctor

  # Also test the path to the peers of a configuration
  warren-tunnel doctor --config pod.conf";
