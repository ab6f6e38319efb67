// SPDX-License-Identifier: MIT
/*
 * Checks and reports.  A check that fails writes one line to the runner and
 * ends the process of its case, so nothing after it runs.
 */
#include <stdarg.h>
#include <time.h>

#include "harness.h"

enum { EXIT_FAIL = 1, EXIT_SKIP = 77 };

int report_fd = -1;

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void report(const char *text)
{
	ssize_t n = write(report_fd, text, strlen(text));

	if (n < 0)
		fprintf(stderr, "%s\n", text);
}

void case_fail(const char *file, int line, const char *fmt, ...)
{
	char text[800];
	va_list args;
	int n;

	n = snprintf(text, sizeof(text), "%s:%d: ", base_name(file), line);
	va_start(args, fmt);
	vsnprintf(text + n, sizeof(text) - n, fmt, args);
	va_end(args);
	report(text);
	_exit(EXIT_FAIL);
}

void case_skip(const char *fmt, ...)
{
	char text[400];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	report(text);
	_exit(EXIT_SKIP);
}

static const char *errno_name(int err)
{
	const char *name = err ? strerrorname_np(err) : "success";

	return name ? name : "unknown errno";
}

long long check_ok(const char *file, int line, const char *text, long long got)
{
	if (got < 0)
		case_fail(file, line, "%s: expected success, got %s", text,
			  errno_name(errno));
	return got;
}

void check_err(const char *file, int line, const char *text, long long got,
	       int want)
{
	int err = errno;

	if (got != -1)
		case_fail(file, line, "%s: expected %s, got %lld", text,
			  errno_name(want), got);
	if (err != want)
		case_fail(file, line, "%s: expected %s, got %s", text,
			  errno_name(want), errno_name(err));
}

void check_eq(const char *file, int line, const char *text, long long got,
	      long long want)
{
	int err = errno;

	if (got == want)
		return;
	if (got == -1)
		case_fail(file, line, "%s: expected %lld, got -1 (%s)", text,
			  want, errno_name(err));
	case_fail(file, line, "%s: expected %lld, got %lld", text, want, got);
}

static const struct {
	short bit;
	const char *name;
} event_names[] = {
	{ POLLIN, "IN" }, { POLLPRI, "PRI" }, { POLLOUT, "OUT" },
	{ POLLRDHUP, "RDHUP" }, { POLLERR, "ERR" }, { POLLHUP, "HUP" },
	{ POLLNVAL, "NVAL" },
};

static const char *events_text(short events, char *buf, size_t len)
{
	size_t used = 0;

	buf[0] = 0;
	for (size_t i = 0; i < sizeof(event_names) / sizeof(event_names[0]); i++)
		if (events & event_names[i].bit)
			used += snprintf(buf + used, len - used, "%s%s",
					 used ? "|" : "", event_names[i].name);
	return used ? buf : "none";
}

void check_events(const char *file, int line, int fd, short want, int wait_ms)
{
	int64_t until = now_ms() + wait_ms;
	char a[64], b[64];

	for (;;) {
		struct pollfd p = {
			.fd = fd,
			.events = POLLIN | POLLPRI | POLLOUT | POLLRDHUP,
		};

		if (poll(&p, 1, 0) < 0)
			case_fail(file, line, "poll: %s", errno_name(errno));
		if (p.revents == want)
			return;
		if (now_ms() >= until)
			case_fail(file, line, "expected events %s, got %s",
				  events_text(want, a, sizeof(a)),
				  events_text(p.revents, b, sizeof(b)));
		sleep_ms(2);
	}
}

int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

void sleep_ms(int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}
