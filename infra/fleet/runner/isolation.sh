#!/bin/bash
# isolation.sh USER [HOST...]: what no job may reach, on VMs of pools and on VMs made for one run.
#
# Containers on the bridge tidepool0, and that user on the VM itself, get out to the internet and are kept from the
# metadata server, where the VM's identity is to be had; from other VMs and all that is private; from what listens on the
# VM; and from IPv6, which the stack's subnets do not have. The metadata server's address is the resolver too, so
# questions about names pass. HOSTs are those of a slice of several, whose containers are on the VM's own network: the user
# reaches these, and they alone reach it. Rules are in chains of their own, which no other daemon empties. Run before
# every job too, in case that one is gone or that another daemon put its own before it.
set -euo pipefail

user=$1
hosts=("${@:2}")
server=169.254.169.254/32
containers=172.30.0.0/24
# Where nothing public is: https://www.rfc-editor.org/rfc/rfc6890 (read 2026-11).
private=(10.0.0.0/8 100.64.0.0/10 169.254.0.0/16 172.16.0.0/12 192.168.0.0/16)

# first PROGRAM TABLE CHAIN RULE...: the rule is there once, before all others. What is there already is taken away last.
first() {
  local rules number
  "$1" -w -t "$2" -I "$3" "${@:4}"
  mapfile -t rules < <("$1" -w -t "$2" -S "$3" | grep -e "^-A $3 ")
  for ((number = ${#rules[@]}; number > 1; number--)); do
    if [[ ${rules[number - 1]} == "${rules[0]}" ]]; then "$1" -w -t "$2" -D "$3" "$number"; fi
  done
}

# each RULE VALUE...: the rule once for each value.
# shellcheck disable=SC2059 # the rule is the form
each() { (($# < 2)) || printf -- "$1\n" "${@:2}"; }

# All of a chain at once: there is no moment in which a part of it is missing. A refusal is an answer, so that a library
# which asks does not wait.
iptables-restore -w --noflush <<RULES
*filter
:TIDEPOOL-USER - [0:0]
$(each "-A TIDEPOOL-USER -d $server -p %s --dport 53 -j RETURN" udp tcp)
$(each '-A TIDEPOOL-USER -o lo -p %s --dport 53 -j RETURN' udp tcp)
$(each '-A TIDEPOOL-USER -o lo -p %s --dport 1:1023 -j REJECT' udp tcp)
-A TIDEPOOL-USER -o lo -j RETURN
$(each '-A TIDEPOOL-USER -d %s/32 -j RETURN' "${hosts[@]}")
$(each '-A TIDEPOOL-USER -d %s -j REJECT' "${private[@]}")
:TIDEPOOL-JOBS - [0:0]
$(each "-A TIDEPOOL-JOBS -i tidepool0 -d $server -p %s --dport 53 -j ACCEPT" udp tcp)
$(each '-A TIDEPOOL-JOBS -i tidepool0 -d %s -j REJECT' "${private[@]}")
-A TIDEPOOL-JOBS -i tidepool0 -j ACCEPT
-A TIDEPOOL-JOBS -o tidepool0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A TIDEPOOL-JOBS -o tidepool0 -j REJECT
:TIDEPOOL-FROM-SLICE - [0:0]
$(each '-A TIDEPOOL-FROM-SLICE -s %s/32 -j RETURN' "${hosts[@]}")
-A TIDEPOOL-FROM-SLICE -j REJECT
COMMIT
RULES

first iptables filter OUTPUT -m owner --uid-owner "$user" -j TIDEPOOL-USER
first iptables filter INPUT -i tidepool0 -j REJECT
first iptables nat POSTROUTING -s "$containers" ! -o tidepool0 -j MASQUERADE
if ((${#hosts[@]})); then
  first iptables filter INPUT ! -i lo -p tcp --dport 1024:65535 -m conntrack --ctstate NEW -j TIDEPOOL-FROM-SLICE
fi
if [[ -e ${TIDEPOOL_ROOT-}/proc/net/if_inet6 ]]; then
  first ip6tables filter OUTPUT -m owner --uid-owner "$user" -o lo -p tcp --dport 1:1023 -j REJECT
  first ip6tables filter OUTPUT -m owner --uid-owner "$user" ! -o lo -j REJECT
  first ip6tables filter INPUT -i tidepool0 -j REJECT
  first ip6tables filter FORWARD -i tidepool0 -j REJECT
  if ((${#hosts[@]})); then
    first ip6tables filter INPUT ! -i lo -p tcp --dport 1024:65535 -m conntrack --ctstate NEW -j REJECT
  fi
fi
# Last: only with all the others do containers get anywhere.
first iptables filter FORWARD -j TIDEPOOL-JOBS
