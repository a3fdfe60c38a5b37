#!/bin/bash
# Lets containers out to the internet, and keeps jobs from the metadata server, where the VM's identity is to be had:
# containers, and the runner's user on the VM itself, which builds what the cache is warmed with and is who a container on
# the VM's own network runs as. The address is the VM's resolver too, so questions about names pass. Nothing on the VM
# answers a container, and no other VM, nor a container of the image's own docker. The rules are in chains of their own,
# which no other daemon empties. Run before every job too, in case that one is gone.
set -euo pipefail
# shellcheck source=../lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

server=169.254.169.254/32
# As VMs with IPv6 have it: https://cloud.google.com/compute/docs/metadata/querying-metadata
server_6=fd20:ce::254/128
containers=172.30.0.0/24
# Where nothing public is: https://www.rfc-editor.org/rfc/rfc6890 (read 2026-11).
private=(10.0.0.0/8 100.64.0.0/10 169.254.0.0/16 172.16.0.0/12 192.168.0.0/16)

# first PROGRAM CHAIN RULE...: the rule is there once, before all others.
first() { "$1" -w -C "${@:2}" 2>/dev/null || "$1" -w -I "${@:2}"; }

# All of a chain at once: there is no moment in which a part of it is missing. A refusal is an answer, so that a library
# which asks does not wait.
iptables-restore -w --noflush <<RULES
*filter
:TIDEPOOL-METADATA - [0:0]
-A TIDEPOOL-METADATA -d $server -p udp --dport 53 -j RETURN
-A TIDEPOOL-METADATA -d $server -p tcp --dport 53 -j RETURN
-A TIDEPOOL-METADATA -d $server -j REJECT
:TIDEPOOL-JOBS - [0:0]
-A TIDEPOOL-JOBS -i tidepool0 -d $server -p udp --dport 53 -j ACCEPT
-A TIDEPOOL-JOBS -i tidepool0 -d $server -p tcp --dport 53 -j ACCEPT
$(printf -- '-A TIDEPOOL-JOBS -i tidepool0 -d %s -j REJECT\n' "${private[@]}")
-A TIDEPOOL-JOBS -i tidepool0 -j ACCEPT
-A TIDEPOOL-JOBS -o tidepool0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A TIDEPOOL-JOBS -o tidepool0 -j REJECT
COMMIT
RULES

# On a slice of several hosts a container is on the VM's own network. There its user reaches the slice's hosts and nothing
# else that is private, nor what the system listens with on this one; and nobody but them reaches it, jobs on other slices
# of the pool included.
addresses=$(workers)
if [[ $addresses == *$'\n'* ]]; then
  mapfile -t hosts <<<"$addresses"
  iptables-restore -w --noflush <<RULES
*filter
:TIDEPOOL-FROM-SLICE - [0:0]
$(printf -- '-A TIDEPOOL-FROM-SLICE -s %s/32 -j RETURN\n' "${hosts[@]}")
-A TIDEPOOL-FROM-SLICE -j REJECT
:TIDEPOOL-TO-SLICE - [0:0]
-A TIDEPOOL-TO-SLICE -p udp --dport 53 -j RETURN
-A TIDEPOOL-TO-SLICE -p tcp --dport 53 -j RETURN
-A TIDEPOOL-TO-SLICE -o lo -p tcp --dport 1:1023 -j REJECT
-A TIDEPOOL-TO-SLICE -o lo -j RETURN
$(printf -- '-A TIDEPOOL-TO-SLICE -d %s/32 -j RETURN\n' "${hosts[@]}")
$(printf -- '-A TIDEPOOL-TO-SLICE -d %s -j REJECT\n' "${private[@]}")
COMMIT
RULES
  first iptables INPUT ! -i lo -p tcp --dport 1024:65535 -m conntrack --ctstate NEW -j TIDEPOOL-FROM-SLICE
  first iptables OUTPUT -m owner --uid-owner "$runner_user" -j TIDEPOOL-TO-SLICE
fi

first iptables OUTPUT -m owner --uid-owner "$runner_user" -j TIDEPOOL-METADATA
first iptables INPUT -i tidepool0 -j REJECT
first iptables POSTROUTING -t nat -s "$containers" ! -o tidepool0 -j MASQUERADE
# The stack's subnets have no IPv6, and containers are given none.
if [[ -e $root/proc/net/if_inet6 ]]; then
  first ip6tables OUTPUT -d "$server_6" -m owner --uid-owner "$runner_user" -j REJECT
  first ip6tables INPUT -i tidepool0 -j REJECT
  first ip6tables FORWARD -i tidepool0 -j REJECT
fi
# Last: only with all the others do containers get anywhere.
first iptables FORWARD -j TIDEPOOL-JOBS
