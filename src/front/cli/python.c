/* cordon python: one program in an interpreter started for it, or a batch of them in a warm one. */
#include "front/cli/args.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/scope.h"
#include "base/str.h"
#include "engine/python.h"
#include "front/cli/print.h"

/* The one thing a signal handler can reach. */
static volatile int asked_to_end;

static void on_signal(int number)
{
	asked_to_end = number;
}

static void handle_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	for (size_t i = 0; i < COUNT_OF(numbers); i++) {
		struct sigaction old;
		if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(numbers[i], &(struct sigaction){ .sa_handler = on_signal }, NULL);
	}
}

/* ---- options ---- */

static void options_done(struct python_options *o)
{
	strv_done(&o->imports);
	strv_done(&o->unblocked);
}

static int make_options(const struct args *a, const struct strv *unblocked, struct python_options *ret, struct err *e)
{
	if (strv_copy(unblocked, &ret->unblocked) < 0)
		return err_nomem(e);
	TRY(imports_add_set(&ret->imports, a->imports ? a->imports : "default", e));
	for (size_t i = 0; i < a->allow_imports.n; i++) {
		TRY(imports_check(a->allow_imports.v[i], &ret->unblocked, e));
		if (!strv_has(&ret->imports, a->allow_imports.v[i]) && strv_add(&ret->imports, a->allow_imports.v[i]) < 0)
			return err_nomem(e);
	}
	return 0;
}

/* What was asked for in so many words is refused if no program can have it. */
static int check_asked(const struct args *a, struct err *e)
{
	static const struct {
		enum policy_limit limit;
		int64_t most;
	} rows[] = {
		{ LIMIT_TIMEOUT_MS, PYTHON_WALL_MOST_MS },
		{ LIMIT_MEMORY_MB, PYTHON_MEMORY_MOST_MB },
		{ LIMIT_OUTPUT_BYTES, PYTHON_OUTPUT_MOST },
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct policy *flags = &a->request.flags;
		if (!(flags->set & POLICY_SET_LIMIT(rows[i].limit)) || flags->limits[rows[i].limit] <= rows[i].most)
			continue;
		char most[32];
		const struct policy_limit_row *row = &policy_limit_rows[rows[i].limit];
		limit_in_words(row, rows[i].most, most, sizeof most);
		err_set(e, ERR_USAGE, 0, "options", "--%s is more than a program can have", row->flag);
		return err_hint(e, -ERANGE, "give at most %s", most);
	}
	return 0;
}

/* The policy's layers: limits, and modules that are unblocked. */
static int find_allowed(const struct args *a, struct python_allowed *ret, struct err *e)
{
	autoclean(strv_done) struct strv notes = { 0 };
	const struct python_layers layers = { .profiles = &a->request.profiles, .flags = &a->request.flags, .projects = true };
	TRY(check_asked(a, e));
	TRY(python_allow(&layers, ret, &notes, e));
	for (size_t i = 0; i < notes.n; i++)
		print_note(notes.v[i]);
	return 0;
}

/* ---- one program ---- */

static int read_source(const char *path, struct buf *ret, struct err *e)
{
	int result = str_equal(path, "-") ? fd_read_all(STDIN_FILENO, ret) : fd_read_file(path, ret);
	if (result == -EFBIG)
		return err_set(e, ERR_USAGE, 0, "python", "\"%s\" is longer than %u bytes", path, PYTHON_SOURCE_MOST);
	return result < 0 ? err_set(e, ERR_USAGE, -result, "python", "cannot read \"%s\"", path) : 0;
}

static int find_source(const struct args *a, struct buf *ret, const char **ret_name, struct err *e)
{
	if (a->code && a->word_count > 0) {
		err_set(e, ERR_USAGE, 0, "options", "two programs: -c and \"%s\"", a->words[0]);
		return err_hint(e, -EINVAL, "give one of them; data for it goes into --input");
	}
	if (!a->code && a->word_count == 0) {
		err_set(e, ERR_USAGE, 0, "options", "cordon python is given no program");
		return err_hint(e, -EINVAL, "write cordon python FILE, or - for standard input, or -c CODE");
	}
	*ret_name = a->code ? "<code>" : str_equal(a->words[0], "-") ? "<stdin>" : a->words[0];
	if (!a->code)
		return read_source(a->words[0], ret, e);
	buf_add_text(ret, a->code);
	return buf_check(ret) < 0 ? err_set(e, ERR_USAGE, 0, "python", "the code of -c is longer than %u bytes", PYTHON_SOURCE_MOST)
				  : 0;
}

static int report(const struct args *a, const struct python_result *r, struct err *e)
{
	autoclean(buf_done) struct buf out = BUF_MAX((size_t)1 << 30), text = BUF_MAX((size_t)1 << 20),
				       said = BUF_MAX((size_t)1 << 20);
	if (r->end == PYTHON_LOST) {
		err_set(e, ERR_UNSUPPORTED, 0, "python", "%s", buf_text(&r->error));
		return r->hint.size > 0 ? err_hint(e, -EIO, "%s", buf_text(&r->hint)) : -EIO;
	}
	if (a->json) {
		python_report_json(r, NULL, &out);
		buf_add_text(&out, "\n");
	} else {
		buf_add(&out, r->output.data, r->output.size);
		python_report_text(r, &said);
		print_add_safe_lines(&text, buf_text(&said), said.size);
		python_report_missing(r, &text);
		if (r->truncated)
			buf_add_text(&text, "cordon: note: the output is longer than --output allows, and was cut\n");
	}
	TRY(print_out(&out, e));
	print_to(STDERR_FILENO, &text);
	return python_end_row(r->end)->exit_status;
}

static int run_one(const struct args *a, const struct python_options *options, const struct python_limits *limits, struct err *e)
{
	autoclean(buf_done) struct buf source = BUF_MAX(PYTHON_SOURCE_MOST);
	autoclean(python_result_done) struct python_result result = python_result_empty();
	struct python_program program = { .input = a->input_json };
	TRY(find_source(a, &source, &program.name, e));
	program.code = (struct blob){ source.data, source.size };
	TRY(python_once(options, &program, limits, &asked_to_end, &result, e));
	return report(a, &result, e);
}

/* ---- a batch ---- */

enum { WINDOW = 32 }; /* lines handed over ahead; results come in the order of the lines all the same */

struct batch {
	struct python_runner *runner;
	struct python_limits limits, most;
	const char *at, *end; /* what is left of the file */
	size_t line;
	char *function; /* the one that was kept */
	struct {
		struct python_call *call;
		char *id;
	} window[WINDOW];
	size_t first, count;
	int status;
};

static void batch_done(struct batch *b)
{
	for (size_t i = 0; i < WINDOW; i++) {
		python_call_done(&b->window[i].call);
		free(TAKE(b->window[i].id));
	}
	python_runner_close(&b->runner);
	free(TAKE(b->function));
}

static int start_item(struct batch *b, struct batch_item *item, struct err *e)
{
	if (item->code && item->name) {
		free(b->function);
		b->function = strdup(item->code);
	}
	if (!item->runs)
		return 0;
	if (!item->code && !b->function) {
		err_set(e, ERR_USAGE, 0, "python", "line %zu of the batch calls a function, and none was given", b->line);
		return err_hint(e, -EINVAL, "give \"function\" in this line or in one before it");
	}
	const char *code = item->code ? item->code : b->function;
	struct python_program program = { .name = "<code>",
					  .code = { code, strlen(code) },
					  .input = item->input,
					  .function = item->name,
					  .args = item->args,
					  .kwargs = item->kwargs };
	size_t place = (b->first + b->count) % WINDOW;
	TRY(python_call_start(b->runner, &program, &item->limits, &b->window[place].call, e));
	b->window[place].id = TAKE(item->id);
	b->count++;
	return 0;
}

/* The next line, if there is room for it. */
static int next_line(struct batch *b, struct err *e)
{
	const char *newline = memchr(b->at, '\n', (size_t)(b->end - b->at)), *stop = newline ? newline : b->end;
	size_t size = (size_t)(stop - b->at), blank = strspn(b->at, " \t\r");
	const char *line = b->at;
	b->at = newline ? newline + 1 : b->end;
	b->line++;
	if (blank >= size)
		return 0;
	autoclean(batch_item_done) struct batch_item item = { .runs = false };
	TRY(batch_read_line(line, size, b->line, &b->limits, &item, e));
	char place[48];
	snprintf(place, sizeof place, "line %zu of the batch", b->line);
	TRY(python_check_limits(&item.limits, &b->most, place, e));
	return start_item(b, &item, e);
}

static int print_result(struct batch *b, struct err *e)
{
	struct python_call **call = &b->window[b->first].call;
	const struct python_result *r = python_call_result(*call);
	autoclean(buf_done) struct buf out = BUF_MAX((size_t)1 << 30);
	python_report_json(r, b->window[b->first].id, &out);
	buf_add_text(&out, "\n");
	if (r->end == PYTHON_LOST)
		b->status = python_end_row(r->end)->exit_status;
	else if (r->end != PYTHON_DONE && b->status == 0)
		b->status = 1;
	python_call_done(call);
	free(TAKE(b->window[b->first].id));
	b->first = (b->first + 1) % WINDOW;
	b->count--;
	return print_out(&out, e);
}

/* A line makes no sense: those before it have run, and are told first. */
static int finish_before(struct batch *b, int result)
{
	struct err unused = { 0 };
	while (b->count > 0 && !asked_to_end) {
		if (python_call_result(b->window[b->first].call)) {
			if (print_result(b, &unused) < 0)
				break;
			continue;
		}
		int waited = python_runner_wait(b->runner, -1, &unused);
		if (waited < 0 && waited != -EINTR)
			break;
	}
	return result;
}

static int run_lines(struct batch *b, struct err *e)
{
	while ((b->at < b->end || b->count > 0) && !asked_to_end) {
		if (b->at < b->end && b->count < WINDOW) {
			int result = next_line(b, e);
			if (result < 0)
				return finish_before(b, result);
			continue;
		}
		while (b->count > 0 && python_call_result(b->window[b->first].call))
			TRY(print_result(b, e));
		if (b->count > 0 && (b->at >= b->end || b->count == WINDOW)) {
			int result = python_runner_wait(b->runner, -1, e);
			if (result < 0 && result != -EINTR)
				return result;
		}
	}
	return asked_to_end ? 128 + asked_to_end : b->status;
}

static int run_batch(const struct args *a, struct python_options *options, const struct python_allowed *allowed, struct err *e)
{
	autoclean(buf_done) struct buf text = BUF_MAX((size_t)1 << 30);
	if (a->code || a->word_count > 0 || a->input_json) {
		err_set(e, ERR_USAGE, 0, "options", "--batch goes with no program and no --input");
		return err_hint(e, -EINVAL, "every line of the batch has its own: {\"code\": \"...\", \"input\": ...}");
	}
	TRY(read_source(a->batch, &text, e));
	autoclean(batch_done) struct batch b = {
		.limits = allowed->limits, .most = allowed->most, .at = buf_text(&text), .end = buf_text(&text) + text.size
	};
	options->spares = 0; /* a batch waits for its end: whoever is made ahead takes the processor from those who run */
	options->together = python_at_a_time(); /* the others wait, and their clocks with them */
	options->recycle = 1000;
	options->programs = (struct blob){ buf_text(&text), text.size };
	TRY(python_runner_open(options, &b.runner, e));
	return run_lines(&b, e);
}

/* In a build folder it lies beside the tool; beside an installed one it does not. (Beside a host of the library lies what is not
 * ours.) */
static const char *beside_the_tool(char place[PATH_MAX])
{
	const char *named = getenv("CORDON_PYTHON");
	ssize_t length = readlink("/proc/self/exe", place, PATH_MAX - sizeof "/cordon-python");
	if ((named && named[0] == '/') || length <= 0)
		return NULL;
	place[length] = '\0';
	char *slash = strrchr(place, '/');
	memcpy(slash ? slash : place, "/cordon-python", sizeof "/cordon-python");
	return access(place, X_OK) == 0 ? place : NULL;
}

int cmd_python(struct args *a, const struct cli_host *host, struct err *e)
{
	(void)host;
	char place[PATH_MAX];
	autoclean(options_done) struct python_options options = { .path = beside_the_tool(place) };
	autoclean(python_allowed_done) struct python_allowed allowed = { .unblocked = { 0 } };
	TRY(find_allowed(a, &allowed, e));
	TRY(make_options(a, &allowed.unblocked, &options, e));
	handle_signals();
	return a->batch ? run_batch(a, &options, &allowed, e) : run_one(a, &options, &allowed.limits, e);
}
