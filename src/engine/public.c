/* The public C API: engines, and what all of it shares. A thin skin: it checks what comes in, and owns what goes out. */
#include "engine/public.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"

const char *cordon_version(void)
{
	return CORDON_VERSION;
}

void cordon_text_free(char *text)
{
	free(text);
}

/* ---- errors and options ---- */

int public_tell(const struct err *e, int result, struct cordon_error *error)
{
	if (!error || result >= 0)
		return result;
	*error = (struct cordon_error){ 0 };
	snprintf(error->code, sizeof error->code, "%s", err_row(e->code)->json);
	snprintf(error->message, sizeof error->message, "%s", e->message);
	snprintf(error->hint, sizeof error->hint, "%s", e->hint);
	return result;
}

int public_misuse(const char *what, struct cordon_error *error)
{
	struct err e = { 0 };
	err_set(&e, ERR_USAGE, 0, "api", "%s", what);
	err_hint(&e, -EINVAL, "cordon.h says what each function needs");
	return public_tell(&e, -EINVAL, error);
}

int public_take_options(void *ours, size_t our_size, const void *theirs, struct cordon_error *error)
{
	memset(ours, 0, our_size);
	if (!theirs)
		return 0;
	size_t their_size;
	memcpy(&their_size, theirs, sizeof their_size);
	if (their_size < sizeof their_size)
		return public_misuse("options without their size: set .size to sizeof the struct", error);
	for (size_t i = our_size; i < their_size; i++)
		if (((const char *)theirs)[i]) {
			struct err e = { 0 };
			err_set(&e, ERR_UNSUPPORTED, E2BIG, "api", "an option that libcordon %s does not know", CORDON_VERSION);
			return public_tell(&e, err_hint(&e, -E2BIG, "use a newer library, or leave it out"), error);
		}
	memcpy(ours, theirs, their_size < our_size ? their_size : our_size);
	return 0;
}

/* ---- engines ---- */

int cordon_engine_open(const struct cordon_engine_options *options, struct cordon_engine **engine, struct cordon_error *error)
{
	if (!engine)
		return public_misuse("no place for the engine", error);
	struct cordon_engine_options known;
	TRY(public_take_options(&known, sizeof known, options, error));
	struct err e = { 0 };
	autoclean(free_done) struct cordon_engine *opened = calloc(1, sizeof *opened);
	if (!opened)
		return public_tell(&e, err_nomem(&e), error);
	opened->spare = !known.no_spare && known.no_reuse;
	opened->poll = opened->news = -1;
	opened->last = &opened->first;
	struct engine_options inner = {
		.keeper_path = known.keeper_path,
		.prepare = !known.no_spare,
		.no_reuse = known.no_reuse != 0,
		.user_file = known.ignore_user_policy ? "" : NULL,
		.no_projects = known.ignore_project_policy != 0,
	};
	int result = engine_open(&inner, &opened->engine, &e);
	if (result == 0 && engine_subscribe(opened->engine, public_hear, opened) < 0) {
		engine_close(&opened->engine);
		result = err_nomem(&e);
	}
	if (result == 0)
		*engine = TAKE(opened);
	return public_tell(&e, result, error);
}

void cordon_engine_close(struct cordon_engine *engine)
{
	if (!engine)
		return;
	while (engine->pythons)
		cordon_python_close(engine->pythons);
	while (engine->runs)
		public_run_close(engine->runs);
	public_forget(engine, NULL);
	engine_close(&engine->engine);
	fd_done(&engine->poll);
	fd_done(&engine->news);
	free(engine);
}

/* ---- one descriptor for all ---- */

static int make_poll(struct cordon_engine *engine)
{
	autoclean(fd_done) int poll = fd_above_standard(epoll_create1(EPOLL_CLOEXEC));
	TRY(poll);
	autoclean(fd_done) int news = fd_above_standard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	TRY(news);
	if (epoll_ctl(poll, EPOLL_CTL_ADD, news, &(struct epoll_event){ .events = EPOLLIN }) < 0)
		return -errno;
	engine->poll = TAKE_FD(poll);
	engine->news = TAKE_FD(news);
	return 0;
}

void public_follow(struct cordon_engine *engine)
{
	if (engine->poll < 0)
		return;
	/* A keeper may have been replaced under the same number; one that is watched already is EEXIST, a closed one is gone. */
	int keeper = engine_fd(engine->engine);
	if (keeper >= 0)
		epoll_ctl(engine->poll, EPOLL_CTL_ADD, keeper, &(struct epoll_event){ .events = EPOLLIN });
	public_python_follow(engine);
	bool news = engine->first;
	uint64_t count = 1;
	ssize_t done = 0;
	if (news && !engine->news_told)
		done = write(engine->news, &count, sizeof count);
	else if (!news && engine->news_told)
		done = read(engine->news, &count, sizeof count);
	(void)done; /* a counter that never passes 1 neither blocks nor fails */
	engine->news_told = news;
}

int cordon_engine_fd(struct cordon_engine *engine)
{
	if (!engine)
		return -EINVAL;
	if (engine->poll < 0)
		TRY(make_poll(engine));
	public_follow(engine);
	return engine->poll;
}

int cordon_engine_dispatch(struct cordon_engine *engine)
{
	if (!engine)
		return -EINVAL;
	int result = engine_dispatch(engine->engine);
	public_python_dispatch(engine);
	public_follow(engine);
	return result;
}
