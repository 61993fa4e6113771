/* cordon run.
 *
 * The keeper holds the limits, so all that is left to do here is to wait. A signal that asks us to go (SIGINT, SIGTERM,
 * SIGHUP) cancels the run; then we still wait, because only the end of the run tells that nothing of it is left. Further
 * signals change nothing: the keeper kills soon after it has asked. Whoever kills us for good ends the run with us: the
 * keeper lives in this process, and the reaper dies with it. For the same reason the terminal's stop key does nothing: limits
 * go on while a run does. */
#include "front/cli/args.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/str.h"
#include "front/cli/print.h"
#include "front/cli/progress.h"
#include "front/cli/running.h"
#include "front/cli/stats.h"

/* ---- events ---- */

/* A named pipe without a reader gets some time for one to come; then it is an error rather than a wait without end. */
static int open_events(const char *path)
{
	enum { PATIENCE_MS = 2000, LOOK_AGAIN_MS = 20 };
	/* A link in a place that runs can write may have been planted there, to somewhere that they cannot. */
	int follow = str_starts(path, "/dev/") ? 0 : O_NOFOLLOW;
	for (int waited = 0;; waited += LOOK_AGAIN_MS) {
		int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | follow, 0600);
		if (fd >= 0 || errno != ENXIO || waited >= PATIENCE_MS || running_asked_to_end())
			return fd;
		poll(NULL, 0, LOOK_AGAIN_MS);
	}
}

/* What looks like standard output would be a file of that name. */
static int refuse_stdout(const char *option, const char *given, struct err *e)
{
	if (!str_equal(given, "-"))
		return 0;
	err_set(e, ERR_USAGE, 0, "options", "%s \"-\": standard output is the command's", option);
	return err_hint(e, -EINVAL, "name a file; for a file of that name ./-");
}

/* *ret_opened is ours to close; a descriptor of the caller's is not. */
static int set_events(struct args *a, int *ret_opened, struct err *e)
{
	if (!a->events)
		return 0;
	TRY(refuse_stdout("--events", a->events, e));
	if (!str_starts(a->events, "fd:")) {
		int fd = open_events(a->events);
		if (fd < 0) {
			bool nobody = errno == ENXIO;
			int result =
				err_set(e, ERR_USAGE, errno, "options", "--events \"%s\" cannot be opened for writing", a->events);
			return err_hint(e, result, "%s",
					nobody ? "start who reads the pipe before, or at the same time"
					       : "give a file that can be written and is no link, or fd:N");
		}
		a->request.events_fd = *ret_opened = fd;
		return 0;
	}
	int64_t fd;
	int mode = str_parse_number(a->events + 3, 2, INT_MAX, &fd) < 0 ? -1 : fcntl((int)fd, F_GETFL);
	if (mode < 0 || !fd_is_inherited((int)fd) || (mode & O_ACCMODE) == O_RDONLY) {
		err_set(e, ERR_USAGE, 0, "options", "--events \"%s\" is no descriptor that is open for writing", a->events);
		return err_hint(e, -EBADF,
				"give fd:2 or higher and open it, such as --events fd:3 with 3>FILE behind the command line");
	}
	a->request.events_fd = (int)fd;
	return 0;
}

/* ---- the run ---- */

static int wait_for_end(struct engine *engine, struct run *run, struct progress *progress)
{
	/* A signal may come between the look and the sleep; then it is seen after this. */
	enum { LOOK_AGAIN_MS = 200 };
	int result;
	bool cancelled = false;
	do {
		if (running_asked_to_end() && !cancelled) {
			cancelled = true;
			engine_cancel(engine, run);
		}
		struct pollfd beside = progress_wants(progress);
		result = engine_wait_beside(engine, run, &beside, progress_patience_ms(progress, LOOK_AGAIN_MS));
		progress_step(progress);
	} while (result == 0 || result == -EINTR);
	while (!progress_settle(progress, LOOK_AGAIN_MS) && !running_asked_to_end())
		;         /* a terminal that was stopped takes it later */
	running_let_go(); /* from here on there is nothing to lose */
	return result;
}

static int report_json(const struct run *run, struct err *e)
{
	autoclean(buf_done) struct buf out = BUF_MAX((size_t)1 << 31);
	int result = engine_report(run, &out);
	if (result < 0 || buf_check(&out) < 0)
		return err_set(e, ERR_MEMORY, 0, "report", "the report does not fit into memory");
	if (!str_ends(buf_text(&out), "\n"))
		buf_add_text(&out, "\n");
	TRY(print_out(&out, e));
	return outcome_exit_status(run_outcome(run));
}

static void print_line(const char *text)
{
	autoclean(buf_done) struct buf line = BUF_MAX(16384);
	buf_add_text(&line, "cordon: ");
	print_add_safe(&line, text);
	buf_add_text(&line, "\n");
	print_to(STDERR_FILENO, &line);
}

/* A command that failed may have failed because of these. What libraries merely try explains nothing. */
static void report_denials(const struct run *run, size_t most)
{
	struct denial_line denial;
	size_t lines = 0;
	for (size_t i = 0; run_denial(run, i, &denial); i++)
		if (!denial.probed && ++lines <= most)
			print_line(denial.text);
	if (lines > most)
		print_line("denied: more than these; --json lists them all");
}

static void note_changes(const struct run *run)
{
	size_t count = run_changes(run);
	if (count == 0)
		return;
	autoclean(buf_done) struct buf text = BUF_MAX(512);
	buf_add_format(&text, "%zu change%s kept: cordon changes %s --diff, then cordon apply %s or cordon discard %s", count,
		       count == 1 ? " is" : "s are", run_id(run), run_id(run), run_id(run));
	print_note(buf_text(&text));
}

static int report_text(const struct run *run, bool traced, struct err *e)
{
	const struct outcome *o = run_outcome(run);
	if (o->kind == OUTCOME_FAILED) {
		*e = o->err;
		return -EIO;
	}
	char sentence[512];
	outcome_sentence(run, sentence, sizeof sentence);
	if (sentence[0])
		print_line(sentence);
	if (run_untraced(run)) {
		autoclean(buf_done) struct buf text = BUF_MAX(4096);
		buf_add_format(&text, "tracing %s", run_untraced(run));
		print_note(buf_text(&text));
	}
	note_changes(run);
	if (traced || outcome_exit_status(o) != 0)
		report_denials(run, traced ? 1000 : 5);
	return outcome_exit_status(o);
}

/* ---- what is seen meanwhile ---- */

struct watcher {
	struct stats_writer stats;
	struct progress progress;
	bool tells_ports;
};

static void watcher_done(struct watcher *w)
{
	stats_done(&w->stats);
	progress_done(&w->progress);
}

static void on_event(void *context, const struct engine_event *event)
{
	struct watcher *w = context;
	if (event->kind == EVENT_PUBLISHED && w->tells_ports) {
		char text[96];
		snprintf(text, sizeof text, "its port %u is 127.0.0.1:%u here", event->published->inside,
			 event->published->outside);
		print_note(text);
	}
	stats_hear(&w->stats, event);
	progress_hear(&w->progress, event);
}

static bool is_same_file(int a, int b)
{
	struct stat one, other;
	return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

static int watch(struct watcher *w, struct engine *engine, struct args *a, struct err *e)
{
	if (a->progress)
		TRY(progress_open(&w->progress, &a->request, e));
	if (a->stats) {
		TRY(refuse_stdout("--stats", a->stats, e));
		TRY(stats_open(&w->stats, a->stats, e));
	}
	if (a->stats && a->events && is_same_file(w->stats.fd, a->request.events_fd)) {
		err_set(e, ERR_USAGE, 0, "options", "--stats \"%s\" is the file of --events, too", a->stats);
		return err_hint(e, -EINVAL, "give each a file of its own");
	}
	a->request.samples = a->stats || a->progress;
	w->tells_ports = a->request.publish_count > 0 && !a->json;
	return (a->request.samples || w->tells_ports) && engine_subscribe(engine, on_event, w) < 0 ? err_nomem(e) : 0;
}

static void note_lost_stats(const struct watcher *w, const struct args *a)
{
	if (w->stats.fd < 0 || !w->stats.errnum || a->json)
		return;
	autoclean(buf_done) struct buf text = BUF_MAX(4096);
	buf_add_format(&text, "\"%s\" is not complete: %s", a->stats, strerror(w->stats.errnum));
	print_note(buf_text(&text));
}

static void note_lost_events(struct run *run, const struct args *a)
{
	uint64_t lost = a->events ? run_drain_events(run) : 0;
	if (lost == 0 || a->json)
		return;
	autoclean(buf_done) struct buf text = BUF_MAX(4096);
	buf_add_format(&text, "%llu event%s did not reach \"%s\": it is full, or nobody reads it", (unsigned long long)lost,
		       lost == 1 ? "" : "s", a->events);
	print_note(buf_text(&text));
}

static int run_it(struct engine *engine, struct args *a, struct watcher *w, struct run **ret, struct err *e)
{
	TRY(engine_start(engine, &a->request, ret, e));
	const struct strv *notes = &run_decision(*ret)->notes;
	for (size_t i = 0; i < notes->n && !a->json; i++)
		print_note(notes->v[i]);
	int result = wait_for_end(engine, *ret, &w->progress);
	if (result < 0)
		return err_set(e, ERR_INTERNAL, -result, "keeper", "the run was lost from sight");
	note_lost_events(*ret, a);
	note_lost_stats(w, a);
	return a->json ? report_json(*ret, e) : report_text(*ret, a->request.trace_denials, e);
}

int cmd_run(struct args *a, const struct cli_host *host, struct err *e)
{
	autoclean(fd_done) int events = -1;
	running_hold_on();
	TRY(running_set_input(a, e));
	TRY(set_events(a, &events, e));
	a->request.capture = a->json;
	a->request.only_status = !a->json && !a->events && !a->stats && !a->progress && !a->request.trace_denials;
	autoclean(watcher_done) struct watcher watcher = { { .fd = -1 },
							   PROGRESS_NONE }; /* outlives the engine, which may still tell */
	autoclean(engine_close) struct engine *engine = NULL;
	TRY(engine_open(&(struct engine_options){ .keeper = host->keeper, .prepare = true }, &engine, e));
	TRY(watch(&watcher, engine, a, e));
	struct run *run = NULL;
	int result = run_it(engine, a, &watcher, &run, e);
	if (run)
		run_done(engine, &run);
	return result;
}
