/* What the private root shows: the system's parts, what was granted at its own place, and nothing else. */
#include "backend/native/native.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/place.h"
#include "base/scope.h"
#include "base/str.h"
#include "kernel/landlock.h"
#include "kernel/world.h"

/* ---- binds, outer ones first ---- */
struct bind {
	const char *path, *source;
	unsigned how;
};

struct binds {
	struct bind *v;
	size_t n, room;
};

static void binds_done(struct binds *b)
{
	free(b->v);
}

static int add_bind(struct binds *b, struct bind bind)
{
	for (size_t i = 0; i < b->n && b->n < 64; i++) /* pins repeat each other; they are few */
		if (strcmp(b->v[i].path, bind.path) == 0)
			return 0;
	if (b->n == b->room) {
		size_t room = b->room ? b->room * 2 : 16;
		struct bind *more = reallocarray(b->v, room, sizeof *more);
		if (!more)
			return -ENOMEM;
		b->v = more;
		b->room = room;
	}
	b->v[b->n++] = bind;
	return bind.path && bind.source ? 0 : -ENOMEM;
}

static int compare(const void *a, const void *b)
{
	return path_order(((const struct bind *)a)->path, ((const struct bind *)b)->path);
}

/* ---- the system's parts ---- */
/* Granted as it is, or as a piece of something larger that is granted but for what is denied in it. */
static bool is_shown(const struct native *n, const char *path)
{
	return paths_cover(&n->grants_read, path) || paths_cover(&n->grants_pieces, path);
}

static uint64_t choose_parts(const struct native *n)
{
	if (n->job->rootfs || !is_shown(n, world_part(0)))
		return 0;
	uint64_t parts = WORLD_EVERYTHING;
	for (size_t i = 0; i < world_part_count(); i++) {
		struct stat st;
		/* A link is only a name, and what is missing is not shown. */
		if (!is_shown(n, world_part(i)) && lstat(world_part(i), &st) == 0 && !S_ISLNK(st.st_mode))
			parts &= ~(UINT64_C(1) << i);
	}
	return parts;
}

/* Is it in the private root without being bound? Devices, /proc, and what the root is made of. */
static bool is_made(const char *path, uint64_t parts)
{
	if (path_is_within(path, "/proc") || path_is_within(path, "/dev") || strcmp(path, "/sys/devices/system/cpu") == 0)
		return true;
	if (parts && world_has(path))
		return true;
	for (size_t i = 0; i < world_part_count(); i++)
		if (parts >> i & 1 && strcmp(path, world_part(i)) == 0)
			return true;
	return false;
}

/* ---- what was granted ---- */
static int refuse_reach(const struct native *n, const char *path)
{
	err_set(n->e, ERR_UNSUPPORTED, 0, "paths", "%s is out of reach for the run, which is uid %u", path, n->uid);
	return err_hint(n->e, -ENOTSUP, "chown it to the user who shall own the run, or work in another directory");
}

static int bind_one(struct native *n, const char *path, bool writable, struct binds *b)
{
	/* What was named is brought into reach; what a larger grant holds is as closed to the run as its mode says. */
	bool named = strv_has(n->job->named_read, path);
	bool map = writable ? !native_can_write(n, path) : named && native_is_directory(path) && !native_can_enter(n, path);
	if (map && !n->job->facts->idmapped_mounts)
		return refuse_reach(n, path);
	const char *text = plan_text(n->plan, "%s", path);
	return add_bind(b, (struct bind){ text, text, (writable ? WORLD_WRITABLE : 0) | (map ? WORLD_MAPPED : 0) });
}

/* The host's /home would cover the one that the run's own HOME lies in: what is in it is shown, one by one. */
static int bind_homes(struct native *n, const char *path, bool writable, struct binds *b)
{
	if (writable) {
		err_set(n->e, ERR_UNSUPPORTED, 0, "paths", "%s cannot be written to at container level: HOME lies there", path);
		return err_hint(n->e, -ENOTSUP, "grant the directories in it that are meant, or use --isolation process");
	}
	autoclean(strv_done) struct strv names = { 0 };
	autoclean(fd_done) int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || place_list(dir, "", &names) < 0)
		return 0; /* closed to us, and so to the run */
	for (size_t i = 0; i < names.n; i++) {
		autoclean(free_done) char *inner = str_format("%s/%s", path, names.v[i]);
		if (!inner)
			return -ENOMEM;
		struct stat st;
		bool shown = lstat(inner, &st) == 0 && (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode));
		if (shown && strcmp(inner, WORLD_HOME) != 0 && !path_set_root(&n->denied, inner))
			TRY(bind_one(n, inner, false, b));
	}
	return 0;
}

/* With an image "@system" and "/" mean its tree, which has them; and the image is not shown a second time. */
static bool is_of_image(const struct native *n, const char *path)
{
	if (!n->job->rootfs)
		return false;
	for (size_t i = 0; i < world_part_count(); i++)
		if (strcmp(path, world_part(i)) == 0)
			return true;
	return strcmp(path, n->job->rootfs_named) == 0;
}

static int bind_all(struct native *n, const struct strv *paths, bool writable, uint64_t parts, struct binds *b)
{
	for (size_t i = 0; i < paths->n; i++) {
		const char *path = paths->v[i];
		if (path_set_root(&n->denied, path) || strcmp(path, "/") == 0 || (!writable && is_made(path, parts)))
			continue;
		if (!writable && is_of_image(n, path))
			continue;
		if (n->job->cow && strcmp(path, n->job->cow) == 0)
			continue; /* add_overlay() */
		bool holds_home = path_is_within(WORLD_HOME, path);
		TRY(holds_home ? bind_homes(n, path, writable, b) : bind_one(n, path, writable, b));
	}
	return 0;
}

static const struct bind *writable_holder(const struct binds *b, const char *path)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->v[i].how & WORLD_WRITABLE && path_is_within(path, b->v[i].path))
			return &b->v[i];
	return NULL;
}

/* What is hidden in a writable tree could be had under its old name again by renaming a directory above it. A mount point cannot
 * be renamed: so each of them becomes one. */
static int pin_ancestors(struct native *n, struct binds *b, const char *path)
{
	const struct bind *root = writable_holder(b, path);
	if (!root)
		return 0;
	unsigned how = root->how;
	for (size_t i = strlen(root->path) + 1; path[i]; i++) {
		if (path[i] != '/')
			continue;
		const char *part = plan_text(n->plan, "%.*s", (int)i, path);
		TRY(add_bind(b, (struct bind){ part, part, how }));
	}
	return 0;
}

/* Where HOME and TMPDIR lie on disk. */
static int bind_scratch(struct native *n, struct binds *b)
{
	if (n->scratch_mount)
		return 0;
	TRY(add_bind(b, (struct bind){ WORLD_HOME, plan_text(n->plan, "%s/home", n->scratch), WORLD_WRITABLE }));
	return add_bind(b, (struct bind){ "/tmp", plan_text(n->plan, "%s/tmp", n->scratch), WORLD_WRITABLE });
}

static int choose_binds(struct native *n, uint64_t parts, struct binds *b)
{
	TRY(bind_all(n, &n->grants_write, true, parts, b));
	TRY(bind_all(n, &n->grants_read, false, parts, b));
	if (!n->job->rootfs)
		TRY(bind_all(n, &n->grants_pieces, false, parts, b));
	for (size_t i = 0; i < n->hide.n; i++)
		TRY(pin_ancestors(n, b, n->hide.v[i]));
	for (size_t i = 0; i < n->seal.n; i++) {
		TRY(pin_ancestors(n, b, n->seal.v[i]));
		const struct bind *root = writable_holder(b, n->seal.v[i]);
		const char *text = plan_text(n->plan, "%s", n->seal.v[i]);
		TRY(add_bind(b, (struct bind){ text, text, root ? root->how & WORLD_MAPPED : 0 }));
	}
	for (size_t i = 0; i < n->pins.n; i++) {
		TRY(pin_ancestors(n, b, n->pins.v[i]));
		const struct bind *root = writable_holder(b, n->pins.v[i]);
		const char *text = plan_text(n->plan, "%s", n->pins.v[i]);
		TRY(add_bind(b, (struct bind){ text, text, WORLD_LINK | (root ? root->how & WORLD_MAPPED : 0) }));
	}
	TRY(bind_scratch(n, b));
	if (b->n > 0)
		qsort(b->v, b->n, sizeof *b->v, compare);
	return 0;
}

/* ---- ops ---- */
static int add_file(struct native *n, const char *path, const char *text)
{
	if (!text)
		return -ENOMEM;
	return plan_add(n->plan, PLAN_OP(WORLD_FILE, path, { text, strlen(text) }));
}

static int add_users(struct native *n)
{
	bool nobody = n->inner_uid != NATIVE_NOBODY, root = n->inner_uid != 0;
	TRY(add_file(n, "/etc/passwd",
		     plan_text(n->plan, "%s" WORLD_NAME ":x:%u:%u:" WORLD_NAME ":" WORLD_HOME ":/bin/sh\n%s",
			       root ? "root:x:0:0:root:/root:/usr/sbin/nologin\n" : "", n->inner_uid, n->inner_gid,
			       nobody ? "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n" : "")));
	return add_file(n, "/etc/group",
			plan_text(n->plan, "%s" WORLD_NAME ":x:%u:\n%s", n->inner_gid != 0 ? "root:x:0:\n" : "", n->inner_gid,
				  n->inner_gid != NATIVE_NOBODY ? "nogroup:x:65534:\n" : ""));
}

/* Placeholders are not there yet. */
static bool is_directory(const struct native *n, const char *path)
{
	for (size_t i = 0; i < n->holders.n; i++)
		if (strcmp(n->holders.v[i], path) == 0)
			return n->holder_kinds.v[i][0] == 'd';
	return native_is_directory(path);
}

static int add_masks(struct native *n)
{
	for (size_t i = 0; i < n->hide.n; i++) {
		const char *path = n->hide.v[i];
		bool made = path_is_within(path, "/etc") || path_is_within(path, "/proc") || path_is_within(path, "/dev");
		bool granted = path_set_root(&n->granted, path);
		if (granted || (made && !n->job->rootfs))
			TRY(plan_add(n->plan, PLAN_OP(MASK, plan_text(n->plan, "%s", path),
						      (is_directory(n, path) ? 1 : 0) | (granted ? 0 : 2))));
	}
	return 0;
}

/* As large as the disk limit says; without one, half of the memory is the kernel's own bound. */
static int add_overlay(struct native *n)
{
	const char *cow = n->job->cow;
	if (!cow)
		return 0;
	bool map = !native_can_write(n, cow);
	if (map && !n->job->facts->idmapped_mounts)
		return refuse_reach(n, cow);
	const char *path = plan_text(n->plan, "%s", cow);
	return plan_add(n->plan, PLAN_OP(OVERLAY, path, path, native_scratch_bytes(n), map));
}

/* What is written to it is thrown away at the end, and nothing of the host's is in it. */
static bool has_writable_root(const struct native *n)
{
	return n->job->rootfs && !n->job->policy->read_only_root;
}

int native_add_world(struct native *n)
{
	struct plan *p = n->plan;
	autoclean(binds_done) struct binds b = { 0 };
	uint64_t parts = choose_parts(n);
	TRY(choose_binds(n, parts, &b));
	bool map = false;
	for (size_t i = 0; i < b.n; i++)
		map |= b.v[i].how & WORLD_MAPPED;
	map |= n->job->cow && !native_can_write(n, n->job->cow);
	/* Root's files in an image are the run's, as those are that an ordinary user unpacks. */
	bool map_image = n->job->rootfs && n->change_ids && n->job->facts->idmapped_mounts;
	map |= map_image;
	if (map)
		TRY(plan_add(p, PLAN_OP(ID_MAP, n->uid, n->gid)));
	TRY(plan_add(p, PLAN_OP(HOST_NAME, WORLD_NAME)));
	TRY(n->job->rootfs ? plan_add(p, PLAN_OP(ROOTFS, plan_text(p, "%s", n->job->rootfs), map_image, has_writable_root(n)))
			   : plan_add(p, PLAN_OP(WORLD, parts)));
	TRY(add_users(n));
	TRY(plan_add(p, PLAN_OP(WORLD_SCRATCH, native_scratch_bytes(n), n->inner_uid, n->inner_gid)));
	for (size_t i = 0; i < b.n; i++)
		TRY(plan_add(p, PLAN_OP(BIND, b.v[i].path, b.v[i].source, b.v[i].how)));
	TRY(add_overlay(n));
	TRY(plan_add(p, PLAN_OP(WORLD_ENTER)));
	return add_masks(n);
}

/* ---- Landlock ---- */
/* Whatever is in the private root may be read. A second wall stands around what may be written. */
int native_add_world_landlock(struct native *n)
{
	static const char *const own[] = { "/tmp", WORLD_HOME, "/dev/shm" };
	int abi = n->job->facts->landlock_abi;
	uint64_t read_dir = landlock_read_access(abi, true), write_dir = landlock_write_access(abi, true) | read_dir;
	struct landlock_rights handled = landlock_handled(abi);
	if (native_has_sockets(n))
		handled.net = 0;
	TRY(plan_add(n->plan, PLAN_OP(LANDLOCK, handled.fs, handled.net, handled.scoped)));
	TRY(plan_add(n->plan, PLAN_OP(LANDLOCK_PATH, "/", has_writable_root(n) ? write_dir : read_dir, false)));
	TRY(plan_add(n->plan, PLAN_OP(LANDLOCK_PATH, "/dev", landlock_device_access(abi), false)));
	for (size_t i = 0; i < COUNT_OF(own); i++)
		TRY(plan_add(n->plan, PLAN_OP(LANDLOCK_PATH, own[i], write_dir, false)));
	for (size_t i = 0; i < n->grants_write.n; i++)
		TRY(plan_add(n->plan, PLAN_OP(LANDLOCK_PATH, plan_text(n->plan, "%s", n->grants_write.v[i]), write_dir, false)));
	return plan_add(n->plan, PLAN_OP(LANDLOCK_ENFORCE));
}

/* ---- claims ---- */
static size_t denied_held(const struct native *n)
{
	size_t count = 0;
	for (size_t i = 0; i < n->hide.n; i++)
		count += path_set_root(&n->denied, n->hide.v[i]) != NULL || strv_has(&n->holders, n->hide.v[i]);
	return count;
}

int native_claim_world(struct native *n)
{
	const struct policy *p = n->job->policy;
	char landlock[160];
	landlock_describe(n->job->facts->landlock_abi, landlock, sizeof landlock);
	TRY(native_claim(n, FIELD_READ, native_list_text(n, &p->read_paths),
			 n->job->rootfs ? plan_text(n->plan, "a private root: the tree of %s%s; nothing else of the host is there",
						    n->job->rootfs_named,
						    has_writable_root(n) ? ", below a layer that is thrown away" : "")
					: "a private root: nothing else of the host is there, but a small /etc",
			 STRENGTH_KERNEL));
	TRY(native_claim(n, FIELD_WRITE, native_list_text(n, &p->write_paths),
			 plan_text(n->plan, "read-only mounts; Landlock %s", landlock), STRENGTH_KERNEL));
	if (p->read_only_root)
		TRY(native_claim(n, FIELD_READ_ONLY_ROOT, "true",
				 "read-only mounts: nothing but allowedWritePaths, /tmp, HOME and /dev/shm is writable",
				 STRENGTH_KERNEL));
	return native_claim(
		n, FIELD_DENIED, native_list_text(n, &p->denied_paths),
		plan_text(n->plan,
			  "not in the private root, or hidden by mounts, which cannot be moved; always protected here: %zu "
			  "hidden, %zu read-only%s",
			  n->hide.n - denied_held(n), n->seal.n + n->pins.n,
			  n->more_repositories ? " (repositories of git far below were not looked for)" : ""),
		STRENGTH_KERNEL);
}
