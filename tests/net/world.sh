#!/usr/bin/env bash
# world.sh FOLDER COMMAND...: run a command in a network namespace with the small Internet of world.py. Nothing leaves it.
set -eu
folder=$1
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$folder/key.pem" -out "$folder/cert.pem" -days 2 -subj /CN=good.test \
	-addext subjectAltName=DNS:good.test,DNS:sub.wild.test,DNS:other.test,IP:93.184.216.34 2>/dev/null
: >"$folder/reached"
if [ "$(id -u)" -eq 0 ]; then own=(-n -m); else own=(-U -n -m --map-current-user --keep-caps); fi
exec unshare "${own[@]}" python3 "$(dirname "$0")/world.py" "$@"
