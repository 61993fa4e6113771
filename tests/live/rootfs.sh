#!/usr/bin/env bash
# Another userland: a directory or an archive as the root of a run.
. "$(dirname "$0")/../lib.sh"
[ -x "$CORDON" ] || skip_all 'the tool is not built'
need busybox tar gzip
export XDG_STATE_HOME=$T/state
mkdir "$XDG_STATE_HOME"
file "$(command -v busybox)" 2>/dev/null | grep -q dynamically && skip_all 'busybox is not static'
image=$T/image
mkdir -p "$image"/{bin,etc,usr/share,root,var/lib} && cp "$(command -v busybox)" "$image/bin/busybox"
for name in sh ls cat id uname touch rm mkdir ln; do ln -s busybox "$image/bin/$name"; done
echo 'ID=tiny' >"$image/etc/os-release"
echo 'them:x:7:7::/:/bin/sh' >"$image/etc/passwd"
ln -s /nowhere "$image/etc/resolv.conf"
chmod -R a+rX "$T/image"
says() { # WANT SCRIPT ROOT [OPTION...]
	local want=$1 script=$2 root=$3
	shift 3
	run "$CORDON" run --rootfs "$root" "$@" -- sh -c "$script"
	expect_equal "$script" "$want" "$(cat "$OUT" "$ERR" | tr '\n' ' ')"
}
world() { # ROOT: what every kind of root shows
	says 'ID=tiny ' 'cat /etc/os-release' "$1"
	says 'busybox cat id ln ls mkdir rm sh touch uname ' 'ls /bin' "$1"
	says 'sandbox sandbox ' 'uname -n; id -un' "$1"
	says 'bin dev etc home proc root tmp usr var ' 'ls / | busybox grep -v -e "^work$" -e "^srv$" -e "^mnt$"' "$1"
	says 'x y z ' 'echo x >/tmp/x; echo y >$HOME/y; echo z >/dev/shm/z; cat /tmp/x $HOME/y /dev/shm/z' "$1"
	says 'full null ptmx pts random shm stderr stdin stdout tty urandom zero ' 'ls /dev | busybox grep -v "^fd$"' "$1"
	says "$WORK mine " 'busybox pwd; echo mine >made; cat made' "$1"
	expect_equal 'the working directory is the host'"'"'s' mine "$(cat made)"
	rm -f made
	says 'no no ' 'ls /usr/bin/env 2>/dev/null || echo no; busybox test -e /etc/debian_version || echo no' "$1"
	says '1 ' 'busybox ls -d /proc/[0-9]* | busybox head -n 1 | busybox tr -dc 0-9; echo' "$1"
	says '1 ' 'busybox awk "\$5 == \"/\"" /proc/self/mountinfo | busybox wc -l' "$1" # nothing of the host's lies below or above
	# Written to the root: seen, and gone afterwards; read-only where the policy says so.
	says 'new ' 'echo new >/usr/share/new && cat /usr/share/new; rm /etc/os-release' "$1"
	says 'ID=tiny ' 'cat /etc/os-release; ls /usr/share' "$1"
	says 'no no ' 'p=/usr/share/x; busybox touch $p 2>/dev/null || echo no; p=/etc/os-release; busybox unlink $p 2>/dev/null || echo no' "$1" --profile strict --isolation container --processes 5
}

before=$(cd "$image" && find . -printf '%p %y %m %s %T@ %l\n' | sort | sha256sum)
about 'a directory'
world "$image"
expect_equal 'is as it was' "$before" "$(cd "$image" && find . -printf '%p %y %m %s %T@ %l\n' | sort | sha256sum)"
expect_status 127 "$CORDON" run --rootfs "$image" -- python3
expect_err 'no program "python3"'
expect_status 125 "$CORDON" run --isolation process --rootfs "$image" -- sh -c true
expect_err 'needs the container level'
expect_status 125 "$CORDON" run --rootfs / -- sh -c true
expect_err 'cannot be a root'
expect_status 125 "$CORDON" run --rootfs "$image" --deny "$image" -- sh -c true
run "$CORDON" explain --rootfs "$image" -- sh -c true
expect_out "tree of $image"
expect_out 'ROOTFS|tree of an image'

about 'a tar of a root directory'
tar -C "$image" -cf "$T/root.tar" .
world "$T/root.tar"
first=$(find "$XDG_STATE_HOME/cordon/images" -maxdepth 1 -regex '.*/[0-9a-f]+' | wc -l)
says 'ID=tiny ' 'cat /etc/os-release' "$T/root.tar"
expect_equal 'it is unpacked once' "1 1" "$first $(find "$XDG_STATE_HOME/cordon/images" -maxdepth 1 -regex '.*/[0-9a-f]+' | wc -l)"
echo 'ID=other' >"$image/etc/os-release"
tar -C "$image" -cf "$T/root.tar" .
says 'ID=other ' 'cat /etc/os-release' "$T/root.tar"
expect_equal 'a changed one is another' 2 "$(find "$XDG_STATE_HOME/cordon/images" -maxdepth 1 -regex '.*/[0-9a-f]+' | wc -l)"
gzip -k "$T/root.tar"
says 'ID=other ' 'cat /etc/os-release' "$T/root.tar.gz"

about 'layers'
echo 'ID=tiny' >"$image/etc/os-release"
mkdir -p "$T/upper/etc" "$T/upper/var" "$T/docker" && echo 'second' >"$T/upper/etc/layer" && : >"$T/upper/var/.wh.lib"
tar -C "$image" -czf "$T/one.tar.gz" . && tar -C "$T/upper" -cf "$T/two.tar" .
cp "$T/one.tar.gz" "$T/docker/one.tar" && cp "$T/two.tar" "$T/docker/two.tar"
echo '[{"Config":"c.json","RepoTags":["t:1"],"Layers":["one.tar","two.tar"]}]' >"$T/docker/manifest.json" && echo '{}' >"$T/docker/c.json"
tar -C "$T/docker" -cf "$T/docker.tar" .
python3 - "$T" <<'PY'
import hashlib, json, os, sys
t = sys.argv[1]
blobs = t + "/oci/blobs/sha256"
os.makedirs(blobs)
def blob(data, kind):
    digest = hashlib.sha256(data).hexdigest()
    open(f"{blobs}/{digest}", "wb").write(data)
    return {"mediaType": kind, "digest": "sha256:" + digest, "size": len(data)}
layer = "application/vnd.oci.image.layer.v1.tar"
layers = [blob(open(t + "/one.tar.gz", "rb").read(), layer + "+gzip"), blob(open(t + "/two.tar", "rb").read(), layer)]
config = blob(b"{}", "application/vnd.oci.image.config.v1+json")
manifest = blob(json.dumps({"schemaVersion": 2, "config": config, "layers": layers}).encode(), "application/vnd.oci.image.manifest.v1+json")
json.dump({"schemaVersion": 2, "manifests": [manifest]}, open(t + "/oci/index.json", "w"))
json.dump({"imageLayoutVersion": "1.0.0"}, open(t + "/oci/oci-layout", "w"))
PY
tar -C "$T/oci" -cf "$T/oci.tar" .
for kind in docker oci; do
	about "layers, $kind"
	says 'ID=tiny second no ' 'cat /etc/os-release /etc/layer; busybox test -e /var/lib || echo no' "$T/$kind.tar"
done

about 'unpacked at the same time, or half'
rm -rf "$XDG_STATE_HOME/cordon/images"
for i in 1 2 3 4; do "$CORDON" run --rootfs "$T/root.tar" -- cat /etc/os-release >"$T/same.$i" 2>&1 & done
wait
expect_equal 'four at once' 'ID=other ID=other ID=other ID=other ' "$(cat "$T"/same.* | tr '\n' ' ')"
expect_equal 'nothing half made is left' 0 "$(find "$XDG_STATE_HOME/cordon/images" -maxdepth 1 -name '.new-*' | wc -l)"
mkdir -p "$T/big" && cp -r "$image/." "$T/big" && head -c 200000000 /dev/zero >"$T/big/zeroes" && tar -C "$T/big" -cf "$T/big.tar" .
half_made() { find "$XDG_STATE_HOME/cordon/images" -maxdepth 1 -name '.new-*' 2>/dev/null | grep -q .; }
# The kill has to fall into the unpacking, which a loaded machine may begin late and end early: a few tries.
for _ in 1 2 3 4 5; do
	rm -rf "$XDG_STATE_HOME/cordon/images"
	"$CORDON" run --rootfs "$T/big.tar" -- sh -c true >/dev/null 2>&1 &
	victim=$!
	while ! half_made && kill -0 $victim 2>/dev/null; do sleep 0.01; done
	kill -9 $victim 2>/dev/null
	wait $victim 2>/dev/null
	half_made && break
done
expect 'killed while it unpacked' half_made
says '200000000 ' 'busybox stat -c %s /zeroes' "$T/big.tar"
expect_equal 'the next one swept' 0 "$(find "$XDG_STATE_HOME/cordon/images" -maxdepth 1 -name '.new-*' | wc -l)"
finish
