{% if boothook %}#cloud-boothook
{% endif %}#!/bin/sh
# Sets up this Warren gateway at every boot. It can be interrupted at any point, also by a power failure: files are
# replaced atomically once they are on the disk, and every step can be repeated.
set -eu
root=${WARREN_ROOT:-}

# put MODE FILE: writes standard input to FILE.
put() {
  mkdir -p "$root${2%/*}"
  cat > "$root$2.new"
  chmod "$1" "$root$2.new"
  sync "$root$2.new"
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

# The names of the secrets, not the secrets themselves.
put 0644 /etc/warren/fetch.toml << 'END'
{{ fetch }}
END

put 0755 /usr/local/lib/warren/install << 'END'
#!/bin/sh
# Installs the binary and retries until that succeeds; `once` stops after the first attempt. A correct binary is kept.
set -u
binary=${WARREN_ROOT:-}/usr/local/bin/warren-tunnel
{% if release %}right() {
  printf '%s  %s\n' '{{ release.sha256 }}' "$1" | sha256sum --check --status 2> /dev/null
}
download() {
  if command -v curl > /dev/null; then
    curl --fail --silent --show-error --location --max-time 300 --output "$2" "$1"
  elif command -v wget > /dev/null; then
    wget --quiet --timeout=300 --output-document="$2" "$1"
  else
    python3 -c 'import shutil, sys, urllib.request as http
shutil.copyfileobj(http.urlopen(sys.argv[1], timeout=300), open(sys.argv[2], "wb"))' "$1" "$2"
  fi
}
attempt() {
  if [ -x "$binary" ] && right "$binary"; then return 0; fi
  mkdir -p "${binary%/*}"
  if ! download '{{ release.url }}' "$binary.new"; then
    echo "warren-install: cannot download {{ release.url }}; retrying" >&2
    return 1
  fi
  if ! right "$binary.new"; then
    echo "warren-install: {{ release.url }} does not match the SHA-256 digest {{ release.sha256 }}; check both; retrying" >&2
    rm -f "$binary.new"
    return 1
  fi
  chmod 0755 "$binary.new"
  if ! "$binary.new" --version > /dev/null 2>&1; then
    echo "warren-install: {{ release.url }} does not run on $(uname -m); set release to the binary for this architecture; retrying" >&2
    rm -f "$binary.new"
    return 1
  fi
  sync "$binary.new"
  mv -f "$binary.new" "$binary"
}
{% else %}attempt() {
  if [ -x "$binary" ]; then return 0; fi
  echo "warren-install: the image does not contain $binary; add it to the image, or set release; retrying" >&2
  return 1
}
{% endif %}until attempt; do
  if [ "${1:-}" = once ]; then exit 1; fi
  sleep 10
done
END

put 0644 /etc/systemd/system/warren-install.service << 'END'
[Unit]
Description=Warren gateway: install the binary
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/lib/warren/install
{% if console %}StandardOutput=journal+console
StandardError=journal+console
{% endif %}TimeoutStartSec=infinity
END

{% for again in [false, true] %}put 0644 /etc/systemd/system/warren-{% if again %}refresh{% else %}fetch{% endif %}.service << 'END'
[Unit]
Description=Warren gateway: {% if again %}refresh{% else %}fetch{% endif %} keys and configuration
Wants=warren-install.service
After=warren-install.service {% if again %}warren-fetch.service{% else %}network-online.target{% endif %}
StartLimitIntervalSec=0

[Service]
Type=oneshot
{% if not again %}RemainAfterExit=yes
{% endif %}ExecStart=/usr/local/bin/warren-tunnel fetch --config /etc/warren/fetch.toml
{% if console %}StandardOutput=journal+console
StandardError=journal+console
{% endif %}User=warren
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
Description=Warren gateway: refresh keys and configuration every minute

[Timer]
OnActiveSec=60
OnUnitInactiveSec=60

[Install]
WantedBy=timers.target
END

# Wants rather than Requires: systemd gives up on required units after their first failure. The files that were fetched
# before are enough to start while the secret store is unavailable. BBR is for TLS connections over long paths; the gateway
# may load no modules.
put 0644 /etc/systemd/system/warren-gateway.service << 'END'
[Unit]
Description=Warren gateway
Wants=warren-fetch.service modprobe@tcp_bbr.service
After=warren-fetch.service modprobe@tcp_bbr.service network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart=/usr/local/bin/warren-tunnel gateway --config {{ folder }}/{{ config }}
ExecReload=/bin/kill -HUP $MAINPID
{% if console %}StandardOutput=journal+console
StandardError=journal+console
{% endif %}User=warren
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

# A new configuration is reloaded. New keys, and settings that cannot change at run time, need a restart. By default,
# paths are watched before any service starts. After the gateway, that is a cycle: at a reboot, systemd leaves out one job.
put 0644 /etc/systemd/system/warren-reload.path << 'END'
[Unit]
Description=Warren gateway: watch for a new configuration
DefaultDependencies=no
After=warren-gateway.service
Before=shutdown.target
Conflicts=shutdown.target

[Path]
PathChanged={{ folder }}/{{ config }}

[Install]
WantedBy=multi-user.target
END

put 0644 /etc/systemd/system/warren-reload.service << 'END'
[Unit]
Description=Warren gateway: reload the configuration
OnFailure=warren-restart.service

[Service]
Type=oneshot
ExecStart=/usr/local/bin/warren-tunnel gateway reload
User=warren
Environment=XDG_RUNTIME_DIR=/run
END

put 0644 /etc/systemd/system/warren-restart.path << 'END'
[Unit]
Description=Warren gateway: watch for new keys
DefaultDependencies=no
After=warren-gateway.service
Before=shutdown.target
Conflicts=shutdown.target

[Path]
{% for key in keys %}PathChanged={{ folder }}/{{ key }}
{% endfor %}
[Install]
WantedBy=multi-user.target
END

put 0644 /etc/systemd/system/warren-restart.service << 'END'
[Unit]
Description=Warren gateway: restart

[Service]
Type=oneshot
ExecStart=/bin/systemctl restart warren-gateway.service
END

{% if volume %}put 0755 /usr/local/lib/warren/disk << 'END'
#!/bin/sh
# {% if is_attached %}Formats the disk{% else %}Attaches the volume{% endif %} with the leases{% if not is_attached %}, formats it{% endif %} if it is new, and mounts it; retries until that succeeds. `once` stops
# after the first attempt. The gateway does not start without it, because it would admit no pod that has a lease.
set -u
folder=${WARREN_ROOT:-}/var/lib/warren
formatting='warren: formatting'
last_sector() {
  dd of="$device" bs=512 seek=$((sectors - 1)) conv=notrunc,sync,fsync status=none
}
attempt() {
  if mountpoint --quiet "$folder"; then return 0; fi
  {% if is_attached %}device={{ volume }}
  if [ ! -e "$device" ]; then return 1; fi
{% else %}device=$(/usr/local/bin/warren-tunnel attach-volume {{ volume }}) || return 1
{% endif %}  # Only a volume that has never been written to is formatted, or one whose formatting was interrupted. The last sector,
  # behind the file system, is marked meanwhile.
  if [ "$(tail -c 512 "$device" | tr -d '\0')" = "$formatting" ] || cmp --quiet --bytes=1048576 "$device" /dev/zero; then
    sectors=$(blockdev --getsz "$device") || return 1
    printf %s "$formatting" | last_sector || return 1
    mkfs.ext4 -q -F "$device" "$((sectors / 2 - 1024))k" || return 1
    head -c 512 /dev/zero | last_sector || return 1
  fi
  mkdir -p "$folder"
  mount -t ext4 -o nodev,nosuid,noexec "$device" "$folder"
}
until attempt; do
  echo "warren-disk: cannot mount {{ volume }}; retrying" >&2
  if [ "${1:-}" = once ]; then exit 1; fi
  sleep 5
done
END

put 0644 /etc/systemd/system/warren-disk.service << 'END'
[Unit]
Description=Warren gateway: mount the volume with the leases
Wants=warren-install.service
After=warren-install.service network-online.target
StartLimitIntervalSec=0

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/lib/warren/disk
{% if console %}StandardOutput=journal+console
StandardError=journal+console
{% endif %}TimeoutStartSec=infinity
END

put 0644 /etc/systemd/system/warren-gateway.service.d/disk.conf << 'END'
[Unit]
Requires=warren-disk.service
After=warren-disk.service
END

{% endif %}{% if log_group %}# Its own user, which can read the journal and nothing of the gateway.
put 0644 /etc/sysusers.d/warren-logs.conf << 'END'
u warren-logs - "Warren gateway logs"
END

put 0644 /etc/systemd/system/warren-logs.service << 'END'
[Unit]
Description=Warren gateway: send logs to CloudWatch Logs
Wants=warren-install.service
After=warren-install.service network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart=/usr/local/bin/warren-tunnel logs --group {{ log_group }} --state /var/lib/warren-logs/cursor
User=warren-logs
SupplementaryGroups=systemd-journal
Restart=always
RestartSec=10
StateDirectory=warren-logs
StateDirectoryMode=0700
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
CapabilityBoundingSet=
{{ sandbox }}

[Install]
WantedBy=multi-user.target
END

{% endif %}# Only the files of this gateway: `--system` ends with an error when any file of the image names an unknown key.
systemd-sysusers /etc/sysusers.d/warren.conf{% if log_group %} /etc/sysusers.d/warren-logs.conf{% endif %}
sysctl --quiet --ignore --load=/etc/sysctl.d/90-warren.conf ||
  echo "warren-boot: cannot set all parameters of /etc/sysctl.d/90-warren.conf; the gateway starts without them" >&2
systemctl daemon-reload
systemctl enable --quiet warren-refresh.timer warren-gateway.service warren-reload.path warren-restart.path{% if log_group %} warren-logs.service{% endif %}
# Started without waiting: the units wait for each other and retry until everything is available.
systemctl start --no-block warren-refresh.timer warren-gateway.service warren-reload.path warren-restart.path{% if log_group %} warren-logs.service{% endif %}
