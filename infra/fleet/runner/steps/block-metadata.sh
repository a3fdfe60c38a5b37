#!/bin/bash
# Lets containers out to the network, and keeps jobs from the metadata server, where the VM's identity is to be had:
# containers, and the runner's user on the VM itself, which builds what the cache is warmed with and is who a container on
# the VM's own network runs as. The address is the VM's resolver too, so questions about names pass. Nothing on the VM
# answers a container. The rules are in chains of their own, which no other daemon empties.
set -euo pipefail
# shellcheck source=../lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

server=169.254.169.254/32
containers=172.30.0.0/24

# chain NAME: there, and empty.
chain() { iptables -w -N "$1" 2>/dev/null || iptables -w -F "$1"; }

# first CHAIN RULE...: the rule is there once, before all others.
first() { iptables -w -C "$@" 2>/dev/null || iptables -w -I "$@"; }

chain TIDEPOOL-METADATA
iptables -w -A TIDEPOOL-METADATA -d "$server" -p udp --dport 53 -j RETURN
iptables -w -A TIDEPOOL-METADATA -d "$server" -p tcp --dport 53 -j RETURN
# An answer, so that a library which asks does not wait.
iptables -w -A TIDEPOOL-METADATA -d "$server" -j REJECT

chain TIDEPOOL-JOBS
iptables -w -A TIDEPOOL-JOBS -i tidepool0 -j TIDEPOOL-METADATA
iptables -w -A TIDEPOOL-JOBS -i tidepool0 -j ACCEPT
iptables -w -A TIDEPOOL-JOBS -o tidepool0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT

first OUTPUT -m owner --uid-owner "$runner_user" -j TIDEPOOL-METADATA
first INPUT -i tidepool0 -j REJECT
first POSTROUTING -t nat -s "$containers" ! -o tidepool0 -j MASQUERADE
# Last: only with all the others do containers get anywhere.
first FORWARD -j TIDEPOOL-JOBS
