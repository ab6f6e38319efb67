// SPDX-License-Identifier: MIT
/*
 * krcore-run: run a program with its TCP sockets on krcore.
 *
 * Finds the shim, looks whether the program can be reached by it, sets
 * LD_PRELOAD and the shim's variables, and becomes the program.  The program's
 * arguments, descriptors and signals stay as they are.  Chooses no sockets:
 * that is the shim's work (krcore-preload(7)).
 */
#include "reach.h"
#include "run_line.h"

#include <krcore/uapi.h>

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHIM_NAME "libkrcore-preload.so"

/* As env(1), nice(1) and timeout(1) have them. */
enum {
	EXIT_OURS = 125,
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
};

static const char usage_text[] =
	"Usage: krcore-run [-v] [--fallback=tcp|fail] [--] COMMAND [ARGUMENT...]\n"
	"Run COMMAND with its TCP sockets on krcore, over RDMA where both ends can.\n"
	"\n"
	"  -f, --fallback=tcp   without krcore, use plain TCP (default)\n"
	"      --fallback=fail  without krcore, fail\n"
	"  -v, --verbose        say on stderr how each socket is opened\n"
	"                       (krcorectl show: RDMA or TCP, and why)\n"
	"  -h, --help           show this text\n"
	"  -V, --version        show the version\n"
	"\n"
	"Exit status: COMMAND's; 125 if krcore-run itself fails, 126 if COMMAND\n"
	"cannot be executed, 127 if it is not found.  See krcore-run(1).\n";

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	va_list args;

	fputs("krcore-run: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

static void parse_options(struct run_options *opts, int argc, char **argv)
{
	switch (run_line_parse(opts, argc, argv)) {
	case RUN_COMMAND:
		return;
	case RUN_HELP:
		fputs(usage_text, stdout);
		exit(EXIT_SUCCESS);
	case RUN_VERSION:
		puts("krcore-run " KRCORE_VERSION);
		exit(EXIT_SUCCESS);
	case RUN_BAD_FALLBACK:
		say("--fallback is tcp or fail, not '%s'", opts->fallback);
		break;
	case RUN_NO_COMMAND:
		fputs(usage_text, stderr);
		break;
	case RUN_BAD_OPTION:
		fputs("Try 'krcore-run --help'.\n", stderr);
		break;
	}
	exit(EXIT_OURS);
}

/* Our own place, so that a build tree or a moved installation works. */
static bool find_beside_us(char *path, size_t room)
{
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (len < 0)
		return false;
	self[len] = '\0';
	for (int i = 0; i < 2; i++) {
		slash = strrchr(self, '/');
		if (!slash)
			return false;
		*slash = '\0';
	}
	len = snprintf(path, room, "%s/lib/" SHIM_NAME, self);
	return len < (ssize_t)room && access(path, R_OK) == 0;
}

static void find_shim(char *path, size_t room)
{
	const char *given = getenv("KRCORE_PRELOAD");

	if (given && *given) {
		if (snprintf(path, room, "%s", given) >= (int)room ||
		    access(path, R_OK) < 0) {
			say("KRCORE_PRELOAD: cannot read '%s'", given);
			exit(EXIT_OURS);
		}
	} else if (!find_beside_us(path, room)) {
		snprintf(path, room, "%s", KR_LIBDIR "/" SHIM_NAME);
		if (access(path, R_OK) < 0) {
			say("%s: no such file beside krcore-run or in %s; "
			    "set KRCORE_PRELOAD to its path",
			    SHIM_NAME, KR_LIBDIR);
			exit(EXIT_OURS);
		}
	}
	if (strpbrk(path, ": \t")) {
		say("'%s': LD_PRELOAD cannot hold a path with a space or colon",
		    path);
		exit(EXIT_OURS);
	}
}

static int check_file(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EACCES;
	return eaccess(path, X_OK) < 0 ? -errno : 0;
}

/* Finds what execvp() is going to run.  0 or -errno. */
static int find_command(const char *name, char *path, size_t room)
{
	const char *dirs = getenv("PATH") ?: "/bin:/usr/bin";
	int result = -ENOENT;
	int len, err;

	if (!*name)
		return -ENOENT;
	if (strchr(name, '/')) {
		len = snprintf(path, room, "%s", name);
		return len < (int)room ? check_file(path) : -ENAMETOOLONG;
	}
	for (;; dirs++) {
		size_t dir_len = strcspn(dirs, ":");

		len = snprintf(path, room, "%.*s%s%s", (int)dir_len, dirs,
			       dir_len ? "/" : "", name);
		err = len < (int)room ? check_file(path) : -ENAMETOOLONG;
		if (err == 0)
			return 0;
		if (err == -EACCES)
			result = -EACCES;
		dirs += dir_len;
		if (!*dirs)
			return result;
	}
}

/* Returns whether the shim shall be set at all. */
static bool check_reach(bool must_krcore, const char *path)
{
	struct kr_reach_report report;
	int err = kr_reach_check(&report, path);

	if (err) {
		say("%s: interpreter '%s': %s", path, report.path,
		    strerror(-err));
		exit(EXIT_NOT_FOUND);
	}
	if (report.reach == KR_REACH_YES)
		return true;
	say("%s %s; %s", report.path, kr_reach_text(report.reach),
	    must_krcore ? "krcore cannot be used" : "it runs with plain TCP");
	if (must_krcore)
		exit(EXIT_OURS);
	/* Its loader would complain about our library at each start; the
	 * children of the others may still be within reach.
	 */
	return report.reach != KR_REACH_FOREIGN;
}

/* Asks only where somebody wants to know: without the module the question
 * makes the kernel look for one.
 */
static void check_module(const struct run_options *opts, bool must_krcore)
{
	int fd;

	if (!opts->verbose && !must_krcore)
		return;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_KRCORE);
	if (fd >= 0) {
		close(fd);
		if (opts->verbose)
			say("a krcore socket uses RDMA or TCP as its peer "
			    "allows: see 'krcorectl show'");
		return;
	}
	if (errno == EPROTONOSUPPORT || errno == ESOCKTNOSUPPORT)
		say("the krcore module is not loaded%s",
		    must_krcore ? "" : "; plain TCP is used");
	else
		say("cannot make a krcore socket: %m%s",
		    must_krcore ? "" : "; plain TCP is used");
	if (must_krcore)
		exit(EXIT_OURS);
}

static void set_variable(const char *name, const char *value)
{
	if (setenv(name, value, 1) < 0) {
		say("%s: %m", name);
		exit(EXIT_OURS);
	}
}

static void set_preload(const char *shim)
{
	char *list = run_line_preload(shim, getenv("LD_PRELOAD"));

	if (!list) {
		say("LD_PRELOAD: %m");
		exit(EXIT_OURS);
	}
	set_variable("LD_PRELOAD", list);
	free(list);
}

static int command_failed(const char *name, int err)
{
	say("%s: %s", *name ? name : "''",
	    err == ENOENT ? "command not found" : strerror(err));
	return err == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

int main(int argc, char **argv)
{
	const char *inherited = getenv("KRCORE_FALLBACK");
	struct run_options opts;
	bool must_krcore;	/* --fallback=fail */
	char shim[PATH_MAX];
	char path[PATH_MAX];
	int err;

	parse_options(&opts, argc, argv);
	argv += optind;
	must_krcore = !strcmp(opts.fallback ?: inherited ?: "", "fail");
	find_shim(shim, sizeof(shim));
	err = find_command(argv[0], path, sizeof(path));
	if (err)
		return command_failed(argv[0], -err);
	if (check_reach(must_krcore, path))
		set_preload(shim);
	check_module(&opts, must_krcore);
	if (opts.fallback)
		set_variable("KRCORE_FALLBACK", opts.fallback);
	if (opts.verbose)
		set_variable("KRCORE_VERBOSE", "1");
	execvp(argv[0], argv);
	return command_failed(argv[0], errno);
}
