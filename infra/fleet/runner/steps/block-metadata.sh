#!/bin/bash
# Keeps jobs from the metadata server, where the VM's identity is to be had: containers, and the runner's user on the
# VM itself, which builds what the cache is warmed with and is who a container on the VM's own network runs as. The
# address is the VM's resolver too, so questions about names pass. Nothing on the VM answers a container.
set -euo pipefail
# shellcheck source=../lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

chain=TIDEPOOL-METADATA
server=169.254.169.254/32

fill() {
  iptables -w -F "$chain"
  iptables -w -A "$chain" -d "$server" -p udp --dport 53 -j RETURN
  iptables -w -A "$chain" -d "$server" -p tcp --dport 53 -j RETURN
  # An answer, so that a library which asks does not wait.
  iptables -w -A "$chain" -d "$server" -j REJECT
}

# first CHAIN RULE...: the rule is there once, before all others.
first() {
  iptables -w -C "$@" 2>/dev/null || iptables -w -I "$@"
}

iptables -w -N "$chain" 2>/dev/null || log "the chain is there"
fill
first DOCKER-USER -j "$chain"
first OUTPUT -m owner --uid-owner "$runner_user" -j "$chain"
first INPUT -i docker0 -j REJECT
