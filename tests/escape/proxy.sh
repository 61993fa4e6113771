#!/usr/bin/env bash
# Ways past the filtering proxy: other names, ports and addresses, names that lead inside, requests that can be read twice, another Host
# or SNI, SOCKS beyond CONNECT, and no proxy at all; each with what is allowed. The world is a namespace: nothing leaves it. P_125
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
need ip unshare setpriv openssl
"$CORDON" explain -i container -- true >/dev/null 2>"$ERR" || skip_all "no container level here: $(head -n 1 "$ERR")"
hosts=(good.test '*.wild.test' xn--bcher-kva.test written.test none.test six.test port.good.test:8080 port.good.test:9000 port.good.test:8443
	10.0.0.5:8080 local.test private.test meta.test zero.test loop6.test mapped.test nat64.test multi.test listed.test:8080 both.test rebind.test)
allow=()
for host in "${hosts[@]}"; do allow+=(--allow-host "$host"); done
mkdir "$T/world" && chmod 777 "$T/world" && cp "$TOP/tests/net/attacks.py" "$WORK/"
"$TOP/tests/net/world.sh" "$T/world" "$CORDON" run -i container --timeout 60s --cpu 60s "${allow[@]}" --events "$T/events" -- python3 -I attacks.py >"$OUT" 2>"$ERR"
STATUS=$?
grep -E '^(ok|not ok|#)' "$OUT"
! grep -q '^not ok' "$OUT" || FAILED=1
expect_equal 'all rows were tried' 0 "$STATUS"
[ "$STATUS" = 0 ] || sed 's/^/# /' "$ERR" | head -n 20

reached=$T/world/reached
about 'what the servers saw'
expect 'something came' grep -q "^http 93.184.216.34:80 GET / HTTP/1.1 host=good.test" "$reached"
for pattern in '^tcp 169\.254\.' '^tcp 127\.' '^tcp 0\.' '^tcp ::1:' '^tcp 10\.0\.0\.5:80$' '^tcp 93\.184\.216\.35:' 'host=other' 'extra=[1-9]' ' /admin ' '^tcp 93\.184\.216\.34:22$'; do
	expect_not_in "$reached" "$pattern"
done
about 'what was told'
for code in allowed not_listed port literal_address local_address bad_name bad_request too_large not_spoken host_differs sni_differs sni_absent not_tls not_http no_such_host; do
	expect_in "$T/events" "\"network.connection\".*\"code\": *\"$code\""
done
finish
