# shellcheck shell=bash disable=SC2034,SC2154
# What this VM is told to do: its own orders, and where they say nothing, the records that all VMs read.

# Of the orders: an empty one says nothing. Of the others: the image for this VM's pool and region, and the broker.
order_image='' order_bundle='' order_restart=0 order_drain='' order_broker=''
pointer_image='' startup_broker=''

# read_orders: fetches and reads all. Fails where nobody can say what they are; no orders are no failure, and no pointer
# is none either, for before the first promotion there is none.
read_orders() {
  local found=0
  read_own_orders || return 1
  if ! get_object runner/startup.json "$state/startup.json" ||
    ! startup_broker=$(jq -er '.broker // "" | strings' "$state/startup.json" 2>/dev/null); then
    blame "the start-up record of the fleet bucket cannot be read"
    return 1
  fi
  get_object runner/current.json "$state/pointer.json" || found=$?
  if ((found == 1)); then echo '{}' >"$state/pointer.json"; fi
  # shellcheck disable=SC2016 # the variables are jq's
  if ((found > 1)) || ! pointer_image=$(jq -er --arg pool "$(own pool)" --arg region "$(own region)" \
    '.images[$pool][$region] // "" | strings' "$state/pointer.json" 2>/dev/null); then
    blame "the pointer of the fleet bucket cannot be read"
    return 1
  fi
}

# read_own_orders: fetches the VM's own alone; for a VM that has its work and waits for news.
read_own_orders() {
  local vm found=0 said fields
  vm=$(own vm) || return 1
  get_object "runner/orders/$vm.json" "$state/orders.json" || found=$?
  if ((found == 1)); then echo '{}' >"$state/orders.json"; fi
  if ((found > 1)) || ! said=$(jq -r 'if type == "object" then . else error end |
    .image, .bundle, .restart, .drain, .broker, .drain_in | if type == "object" or . == null then "" else . end' \
    "$state/orders.json" 2>/dev/null); then
    blame "the VM's orders cannot be read"
    return 1
  fi
  # Empty lines at the end are lost, so the last of them may be missing.
  mapfile -t fields <<<"$said"
  order_image=${fields[0]-} order_bundle=${fields[1]-} order_restart=${fields[2]-}
  order_drain=${fields[3]-} order_broker=${fields[4]-}
  # Another VM may bear this one's name in another zone, while one of the two goes.
  if [[ -n ${fields[5]-} ]] && said=$(own zone) && [[ ${said##*/} != "${fields[5]}" ]]; then order_drain=false; fi
}

# wanted_image: the one to run, empty for none. Orders that say `none` mean it, whatever the pointer names by now: what it
# names may be proved by nobody.
wanted_image() {
  if [[ $order_image == none ]]; then return 0; fi
  printf '%s' "${order_image:-$pointer_image}"
}

why_no_image() {
  if [[ $order_image == none ]]; then
    printf 'the orders name no image: none is proved for %s' "$(own pool)"
  else
    printf 'no image is promoted to %s in %s' "$(own pool)" "$(own region)"
  fi
}

# orders_are: all of them as a text, by which two are told apart.
orders_are() { printf '%s|' "$order_image" "$order_bundle" "$order_restart" "$order_drain"; }

# adopt_restart: what stood in the orders when this VM read them first was for the one before it of its name, or for a
# boot that is over.
adopt_restart() {
  if [[ ! -e $state/report/obeyed ]]; then say obeyed "$(is_restart && printf %s "$order_restart")"; fi
}

is_restart() { [[ $order_restart =~ ^[1-9][0-9]{0,8}$ ]]; }

# wanted_restart: whether a restart is ordered that was not obeyed yet.
wanted_restart() { is_restart && ((order_restart > $(said_number obeyed))); }
