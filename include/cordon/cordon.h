/* cordon: run code that nobody trusts, and get back a precise account of what happened.
 *
 * Pattern of use:
 *
 *     struct cordon_engine *engine;
 *     struct cordon_error error;
 *     if (cordon_engine_open(&engine, NULL, &error) < 0) …            // one keeper process, started with the first run
 *
 *     struct cordon_run_options options = { .size = sizeof options, .argv = argv, .policy_json = "{\"allowNetwork\": false}" };
 *     struct cordon_result *result;
 *     if (cordon_run(engine, &options, &result, &error) < 0) …        // refused, or could not start: error says why
 *     printf("%s", cordon_result_json(result));                       // the object that `cordon run --json` prints
 *     cordon_result_free(result);
 *     cordon_engine_close(engine);
 *
 * Ownership: what a function returns through a pointer is yours and has a function that frees it; what you pass in stays
 * yours. Functions return 0, or a negative errno with *error filled (error may be NULL). The library does not print, exit,
 * install signal handlers or keep global state. Several engines may live in one process; an engine belongs to one thread at
 * a time. */
#ifndef CORDON_H
#define CORDON_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CORDON_API __attribute__((visibility("default")))
#else
#define CORDON_API
#endif

struct cordon_engine;
struct cordon_result;

/* Why cordon itself failed. `code` is one of the words of the JSON interface: "usage", "config", "refused", "unsupported",
 * "not_found", "not_executable", "io", "memory", "protocol", "internal". */
struct cordon_error {
	char code[32];
	char message[512];
	char hint[384];
};

/* Options grow at the end; `size` tells the library which of them you know. {0} besides `size` is the default. */
struct cordon_engine_options {
	size_t size;
	const char *keeper_path; /* NULL: the installed one, or $CORDON_KEEPER */
};

struct cordon_run_options {
	size_t size;
	const char *const *argv;       /* NULL-terminated; required */
	int shell;                     /* argv[0] is a line for /bin/sh */
	const char *profile;           /* a built-in profile or a policy file; NULL: "default" */
	const char *policy_json;       /* a policy laid over the profile, as in a policy file; NULL: none */
	const char *working_directory; /* NULL: the current one */
};

/* "0.1.0". Static. */
CORDON_API const char *cordon_version(void);

CORDON_API int cordon_engine_open(struct cordon_engine **engine, const struct cordon_engine_options *options,
				  struct cordon_error *error);
/* Ends what still runs, and returns when nothing of it is left. NULL is fine. */
CORDON_API void cordon_engine_close(struct cordon_engine *engine);

/* Run a command to its end and capture its output. 0: it ran, whatever became of it; the result tells. */
CORDON_API int cordon_run(struct cordon_engine *engine, const struct cordon_run_options *options, struct cordon_result **result,
			  struct cordon_error *error);

/* The whole account as JSON (docs: cordon(1), OUTPUT). Lives as long as the result. */
CORDON_API const char *cordon_result_json(const struct cordon_result *result);
/* The exit status that `cordon run` would have: the command's own, 124, 125, 126, 127, 137 or 128+n. */
CORDON_API int cordon_result_exit_status(const struct cordon_result *result);
CORDON_API void cordon_result_free(struct cordon_result *result);

#ifdef __cplusplus
}
#endif
#endif
