{% if boothook %}#cloud-boothook
{% endif %}#!/bin/sh
# Sets up this Warren gateway. It runs at every boot and may be cut off anywhere: each file appears whole or not at
# all, and every step can be done again.
set -eu
root=${WARREN_ROOT:-}

# put MODE FILE: makes FILE of standard input.
put() {
  mkdir -p "$root${2%/*}"
  cat > "$root$2.new"
  chmod "$1" "$root$2.new"
  mv -f "$root$2.new" "$root$2"
}

put 0644 /etc/sysusers.d/warren.conf << 'END'
u warren - "Warren gateway" /var/lib/warren
END

put 0644 /etc/sysctl.d/90-warren.conf << 'END'
net.core.rmem_max = 8388608
net.core.wmem_max = 8388608
net.ipv4.ping_group_range = 0 2147483647
END

# Names of secrets, no secrets.
put 0644 /etc/warren/fetch.toml << 'END'
{{ fetch }}
END

put 0755 /usr/local/lib/warren/install << 'END'
#!/bin/sh
# Puts the binary in place, and tries until it is; `once` ends after the first attempt. One that is there and the right
# one is left alone.
set -u
binary=${WARREN_ROOT:-}/usr/local/bin/warren-tunnel
{% if release %}right() {
  printf '%s  %s\n' '{{ release.sha256 }}' "$1" | sha256sum --check --status 2> /dev/null
}
attempt() {
  if [ -x "$binary" ] && right "$binary"; then return 0; fi
  mkdir -p "${binary%/*}"
  if ! curl --fail --silent --show-error --location --max-time 300 --output "$binary.new" '{{ release.url }}'; then
    echo "warren-install: cannot download {{ release.url }}; trying again" >&2
    return 1
  fi
  if ! right "$binary.new"; then
    echo "warren-install: {{ release.url }} has not the SHA-256 {{ release.sha256 }}; check both; trying again" >&2
    rm -f "$binary.new"
    return 1
  fi
  chmod 0755 "$binary.new" && mv -f "$binary.new" "$binary"
}
{% else %}attempt() {
  if [ -x "$binary" ]; then return 0; fi
  echo "warren-install: the image has no $binary; put it there, or say where it is downloaded from; trying again" >&2
  return 1
}
{% endif %}until attempt; do
  if [ "${1:-}" = once ]; then exit 1; fi
  sleep 10
done
END

put 0644 /etc/systemd/system/warren-install.service << 'END'
[Unit]
Description=Warren gateway: binary
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/lib/warren/install
TimeoutStartSec=infinity
END

{% for again in [false, true] %}put 0644 /etc/systemd/system/warren-{% if again %}refresh{% else %}fetch{% endif %}.service << 'END'
[Unit]
Description=Warren gateway: keys and configuration{% if again %}, again{% endif %}
Wants=warren-install.service
After=warren-install.service {% if again %}warren-fetch.service{% else %}network-online.target{% endif %}
StartLimitIntervalSec=0

[Service]
Type=oneshot
{% if not again %}RemainAfterExit=yes
{% endif %}ExecStart=/usr/local/bin/warren-tunnel fetch --config /etc/warren/fetch.toml
User=warren
RuntimeDirectory=warren
RuntimeDirectoryMode=0700
RuntimeDirectoryPreserve=yes
TimeoutStartSec=infinity
Restart=on-failure
RestartSec=5
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
CapabilityBoundingSet=
{{ sandbox }}
END

{% endfor %}put 0644 /etc/systemd/system/warren-refresh.timer << 'END'
[Unit]
Description=Warren gateway: keys and configuration, every minute

[Timer]
OnActiveSec=60
OnUnitInactiveSec=60

[Install]
WantedBy=timers.target
END

# Wanted, not required: systemd gives up what is required after its first failure. What has been fetched is enough to
# start again while the store is away.
put 0644 /etc/systemd/system/warren-gateway.service << 'END'
[Unit]
Description=Warren gateway
Wants=warren-fetch.service
After=warren-fetch.service network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart=/usr/local/bin/warren-tunnel gateway --config {{ folder }}/{{ config }}
ExecReload=/bin/kill -HUP $MAINPID
User=warren
Restart=always
RestartSec=2
TimeoutStopSec=15
RuntimeDirectory=warren-tunnel
RuntimeDirectoryMode=0700
Environment=XDG_RUNTIME_DIR=/run
StateDirectory=warren
StateDirectoryMode=0700
LogsDirectory=warren
LogsDirectoryMode=0700
LimitNOFILE=1048576
AmbientCapabilities=CAP_NET_BIND_SERVICE
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
{{ sandbox }}

[Install]
WantedBy=multi-user.target
END

# Another configuration is read again; what cannot change while the gateway runs, and other keys, need a restart.
put 0644 /etc/systemd/system/warren-reload.path << 'END'
[Unit]
Description=Warren gateway: another configuration
After=warren-gateway.service

[Path]
PathChanged={{ folder }}/{{ config }}

[Install]
WantedBy=multi-user.target
END

put 0644 /etc/systemd/system/warren-reload.service << 'END'
[Unit]
Description=Warren gateway: take up another configuration
OnFailure=warren-restart.service

[Service]
Type=oneshot
ExecStart=/usr/local/bin/warren-tunnel gateway reload
User=warren
Environment=XDG_RUNTIME_DIR=/run
END

put 0644 /etc/systemd/system/warren-restart.path << 'END'
[Unit]
Description=Warren gateway: other keys
After=warren-gateway.service

[Path]
{% for key in keys %}PathChanged={{ folder }}/{{ key }}
{% endfor %}
[Install]
WantedBy=multi-user.target
END

put 0644 /etc/systemd/system/warren-restart.service << 'END'
[Unit]
Description=Warren gateway: start it again

[Service]
Type=oneshot
ExecStart=/bin/systemctl restart warren-gateway.service
END

systemd-sysusers
sysctl --quiet --system
systemctl daemon-reload
systemctl enable --quiet warren-refresh.timer warren-gateway.service warren-reload.path warren-restart.path
# Not waited for: the units wait for each other, and try again until all is there.
systemctl start --no-block warren-refresh.timer warren-gateway.service warren-reload.path warren-restart.path
