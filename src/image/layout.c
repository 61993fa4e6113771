/* What kind of archive it is, and where its layers are. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/scope.h"
#include "base/str.h"
#include "image/internal.h"

#define MAX_LAYERS 512
#define MAX_FILES 20000

/* The files of the outer archive: where their bytes are. */
struct file {
	char *path;
	uint64_t at, size;
};
struct files {
	struct file *v;
	size_t count, room;
};

static void files_done(struct files *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->v[i].path);
	free(f->v);
}

void layers_done(struct layers *l)
{
	free(l->v);
	*l = (struct layers){ 0 };
}

static int files_add(struct files *f, const struct tar *t)
{
	if (f->count == f->room) {
		size_t room = f->room ? f->room * 2 : 32;
		struct file *more = reallocarray(f->v, room, sizeof *more);
		if (!more)
			return -ENOMEM;
		f->v = more;
		f->room = room;
	}
	char *path = strdup(t->member.path);
	if (!path)
		return -ENOMEM;
	f->v[f->count++] = (struct file){ path, t->position, t->member.size };
	return 0;
}

static const struct file *find(const struct files *f, const char *path)
{
	for (size_t i = 0; path && i < f->count; i++)
		if (str_equal(f->v[i].path, path))
			return &f->v[i];
	return NULL;
}

static int list_files(int fd, uint64_t size, struct files *ret, struct err *e)
{
	autoclean(free_done) struct image_source *s = calloc(1, sizeof *s);
	autoclean(free_done) struct tar *t = calloc(1, sizeof *t);
	if (!s || !t)
		return err_nomem(e);
	TRY(source_open(s, fd, 0, size, e));
	t->source = (struct tar_source){ source_read, s };
	int result = s->compressed ? 0 : 1; /* places in a compressed one are of no use */
	while (result > 0 && (result = tar_next(t, e)) > 0) {
		if (t->member.type == TAR_FILE && files_add(ret, t) < 0)
			result = err_nomem(e);
		if (ret->count > MAX_FILES)
			break; /* no image has so many: a root directory */
		/* Pass over the bytes without reading them. */
		if (t->member.type == TAR_FILE && result > 0 && t->left <= s->end - s->at) {
			s->at += t->left;
			t->position += t->left;
			t->left = 0;
		}
	}
	source_done(s);
	return result < 0 ? result : 0;
}

static int parse(int fd, const struct file *file, struct json_doc **ret, struct err *e)
{
	if (file->size > JSON_MAX_BYTES)
		return err_set(e, ERR_CONFIG, 0, "image", "%s is larger than 1 MiB", file->path);
	autoclean(free_done) char *text = malloc(file->size + 1);
	if (!text)
		return err_nomem(e);
	if (pread(fd, text, file->size, (off_t)file->at) != (ssize_t)file->size)
		return err_set(e, ERR_IO, EIO, "image", "cannot read the archive");
	return json_parse(text, file->size, file->path, ret, e);
}

static int missing(const char *what, struct err *e)
{
	err_set(e, ERR_CONFIG, 0, "image", "the image lacks %s", what);
	return err_hint(e, -EBADMSG, "save it anew: docker save IMAGE > FILE.tar");
}

static int add_layer(struct layers *l, const struct file *file, const char *digest)
{
	struct layer *more = l->count < MAX_LAYERS ? reallocarray(l->v, l->count + 1, sizeof *more) : NULL;
	if (!more)
		return -ENOMEM;
	l->v = more;
	struct layer *layer = &l->v[l->count++];
	*layer = (struct layer){ .at = file->at, .size = file->size };
	memcpy(layer->digest, digest, strnlen(digest, sizeof layer->digest - 1));
	return 0;
}

/* "sha256:ab12…" names blobs/sha256/ab12… */
static const struct file *find_blob(const struct files *f, const char *digest)
{
	if (!digest || !str_starts(digest, "sha256:") || strlen(digest) != 7 + 64)
		return NULL;
	autoclean(free_done) char *path = str_format("blobs/sha256/%s", digest + 7);
	return find(f, path);
}

static const char *text_at(const struct json_at *at)
{
	const char *text = NULL;
	json_string(at, &text);
	return text;
}

/* [{"Layers": ["ID/layer.tar", …]}]: several images may be saved together; the first is taken only if it is the only one. */
static int docker_layers(int fd, const struct files *f, const struct file *manifest, struct layers *ret, struct err *e)
{
	autoclean(json_doc_done) struct json_doc *doc = NULL;
	TRY(parse(fd, manifest, &doc, e));
	struct json_at top = json_top(doc), image, list, item;
	if (json_count(&top) != 1 || !json_each(&top, 0, NULL, &image)) {
		err_set(e, ERR_CONFIG, 0, "image", "the archive holds %zu images, not one", json_count(&top));
		return err_hint(e, -EINVAL, "save one: docker save IMAGE > FILE.tar");
	}
	list = json_member(&image, "Layers");
	for (size_t i = 0; json_each(&list, i, NULL, &item); i++) {
		const char *name = text_at(&item);
		const struct file *file = find(f, name);
		if (!file)
			return missing(name ? name : "the name of a layer", e);
		/* Since Docker 25 layers are blobs, and named by what they are. */
		const char *digest = str_starts(name, "blobs/sha256/") && strlen(name) == 13 + 64 ? name + 13 : "";
		if (add_layer(ret, file, digest) < 0)
			return err_nomem(e);
	}
	TRY(json_finish(doc, e));
	return ret->count ? 0 : missing("layers", e);
}

static int oci_manifest(int fd, const struct files *f, const char *digest, struct layers *ret, struct err *e)
{
	autoclean(json_doc_done) struct json_doc *doc = NULL;
	const struct file *file = find_blob(f, digest);
	if (!file)
		return missing("its manifest", e);
	TRY(parse(fd, file, &doc, e));
	struct json_at top = json_top(doc), list = json_member(&top, "layers"), item;
	for (size_t i = 0; json_each(&list, i, NULL, &item); i++) {
		struct json_at at = json_member(&item, "digest");
		const char *name = text_at(&at);
		const struct file *layer = find_blob(f, name);
		if (!layer)
			return missing(name ? name : "the digest of a layer", e);
		if (add_layer(ret, layer, name + 7) < 0)
			return err_nomem(e);
	}
	TRY(json_finish(doc, e));
	return ret->count ? 0 : missing("layers", e);
}

static int oci_layers(int fd, const struct files *f, const struct file *index, struct layers *ret, struct err *e)
{
	autoclean(json_doc_done) struct json_doc *doc = NULL;
	TRY(parse(fd, index, &doc, e));
	struct json_at top = json_top(doc), list = json_member(&top, "manifests"), item;
	if (json_count(&list) != 1 || !json_each(&list, 0, NULL, &item)) {
		err_set(e, ERR_CONFIG, 0, "image", "the archive holds %zu images, not one", json_count(&list));
		return err_hint(e, -EINVAL, "make one for a single image and a single architecture");
	}
	struct json_at at = json_member(&item, "digest");
	return oci_manifest(fd, f, text_at(&at), ret, e);
}

int image_find_layers(int fd, uint64_t size, struct layers *ret, struct err *e)
{
	autoclean(files_done) struct files files = { 0 };
	TRY(list_files(fd, size, &files, e));
	const struct file *docker = find(&files, "manifest.json"), *index = find(&files, "index.json");
	if (docker)
		return docker_layers(fd, &files, docker, ret, e);
	if (index && find(&files, "oci-layout"))
		return oci_layers(fd, &files, index, ret, e);
	return add_layer(ret, &(struct file){ .at = 0, .size = size }, "") < 0 ? err_nomem(e) : 0;
}
