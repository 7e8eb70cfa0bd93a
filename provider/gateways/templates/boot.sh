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
net.ipv4.ip_forward = 1
net.ipv6.conf.all.forwarding = 1
net.core.rmem_max = 8388608
net.core.wmem_max = 8388608
END

# Names of secrets, no secrets.
put 0644 /etc/warren/fetch.toml << 'END'
{{ fetch }}
END

put 0755 /usr/local/lib/warren/install << 'END'
#!/bin/sh
# Puts the binary in place. One that is there and the right one is left alone.
set -eu
binary=${WARREN_ROOT:-}/usr/local/bin/warren-tunnel
{% if release %}right() {
  printf '%s  %s\n' '{{ release.sha256 }}' "$1" | sha256sum --check --status 2> /dev/null
}
if [ -x "$binary" ] && right "$binary"; then exit 0; fi
mkdir -p "${binary%/*}"
if ! curl --fail --silent --show-error --location --retry 3 --max-time 300 --output "$binary.new" '{{ release.url }}'; then
  echo "warren-install: cannot download {{ release.url }}; trying again" >&2
  exit 1
fi
if ! right "$binary.new"; then
  echo "warren-install: {{ release.url }} has not the SHA-256 {{ release.sha256 }}; check both; trying again" >&2
  rm -f "$binary.new"
  exit 1
fi
chmod 0755 "$binary.new"
mv -f "$binary.new" "$binary"
{% else %}if [ -x "$binary" ]; then exit 0; fi
echo "warren-install: the image has no $binary; put it there, or say where it is downloaded from; trying again" >&2
exit 1
{% endif %}END

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
Restart=on-failure
RestartSec=5
END

put 0644 /etc/systemd/system/warren-fetch.service << 'END'
[Unit]
Description=Warren gateway: keys and configuration
Requires=warren-install.service
After=warren-install.service network-online.target
StartLimitIntervalSec=0

[Service]
Type=oneshot
ExecStart=/usr/local/bin/warren-tunnel fetch --config /etc/warren/fetch.toml
User=warren
RuntimeDirectory=warren
RuntimeDirectoryMode=0700
RuntimeDirectoryPreserve=yes
TimeoutStartSec=infinity
Restart=on-failure
RestartSec=5
UMask=0077
CapabilityBoundingSet=
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectControlGroups=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
END

put 0644 /etc/systemd/system/warren-fetch.timer << 'END'
[Unit]
Description=Warren gateway: keys and configuration, again every minute

[Timer]
OnUnitInactiveSec=60

[Install]
WantedBy=timers.target
END

put 0644 /etc/systemd/system/warren-gateway.service << 'END'
[Unit]
Description=Warren gateway
Requires=warren-fetch.service
After=warren-fetch.service network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart=/usr/local/bin/warren-tunnel gateway --config /run/warren/gateway.toml
ExecReload=/bin/kill -HUP $MAINPID
User=warren
Restart=always
RestartSec=2
RuntimeDirectory=warren
RuntimeDirectoryMode=0700
RuntimeDirectoryPreserve=yes
StateDirectory=warren
StateDirectoryMode=0700
LogsDirectory=warren
LogsDirectoryMode=0700
LimitNOFILE=65536
UMask=0077
AmbientCapabilities=CAP_NET_ADMIN CAP_NET_BIND_SERVICE
CapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_BIND_SERVICE
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
DevicePolicy=closed
DeviceAllow=/dev/net/tun rw
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
ProtectClock=yes
ProtectHostname=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service

[Install]
WantedBy=multi-user.target
END

put 0644 /etc/systemd/system/warren-reload.service << 'END'
[Unit]
Description=Warren gateway: take up what was fetched

[Service]
Type=oneshot
ExecStart=/bin/systemctl reload-or-restart warren-gateway.service
END

put 0644 /etc/systemd/system/warren-reload.path << 'END'
[Unit]
Description=Warren gateway: what was fetched has changed
After=warren-gateway.service

[Path]
{% for file in files %}PathChanged=/run/warren/{{ file }}
{% endfor %}Unit=warren-reload.service

[Install]
WantedBy=multi-user.target
END

systemd-sysusers
sysctl --quiet --system
systemctl daemon-reload
systemctl enable --quiet warren-fetch.timer warren-gateway.service warren-reload.path
# Not waited for: the units wait for each other, and try again until all is there.
systemctl start --no-block warren-fetch.timer warren-gateway.service warren-reload.path
