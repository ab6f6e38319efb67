// SPDX-License-Identifier: MIT
/*
 * timing: what the programs that time new connections have in common: their
 * command line, the rounds of the client, and the JSON that it prints:
 * percentiles and all samples, in microseconds.  The first connections, which
 * find peers and fill caches, are made but not counted; the very first one is
 * told apart.  Between two there is a pause, so that the end of one, which takes
 * both hosts a while, is not measured with the beginning of the next.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "timing.h"

enum { COUNT_DEFAULT = 100, COUNT_MAX = 100000, NR_WARM_UP = 5, PAUSE_MS = 10 };

double timing_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_values(const char *name, double *values, int nr)
{
	printf("  \"%s_us\": {\"samples\": [", name);
	for (int i = 0; i < nr; i++)
		printf("%s%.1f", i ? ", " : "", values[i]);
	qsort(values, nr, sizeof(*values), compare);
	printf("],\n    \"min\": %.1f, \"p50\": %.1f, \"p99\": %.1f, \"max\": %.1f}",
	       values[0], values[nr / 2], values[nr * 99 / 100],
	       values[nr - 1]);
}

static int client(const struct program *program, const struct sockaddr_in *to,
		  int count)
{
	double *connects = calloc(count, sizeof(*connects));
	double *totals = calloc(count, sizeof(*totals));
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
	struct sample s, first = { 0 };

	if (!connects || !totals) {
		fprintf(stderr, "%s: %s\n", program->name, strerror(ENOMEM));
		exit(1);
	}
	for (int i = -NR_WARM_UP; i < count; i++) {
		s = program->one(to);
		nanosleep(&pause, NULL);
		if (i == -NR_WARM_UP)
			first = s;
		if (i < 0)
			continue;
		connects[i] = s.connect_us;
		totals[i] = s.total_us;
	}
	printf("{\n  \"count\": %d, \"first_connect_us\": %.1f, \"first_total_us\": %.1f,\n",
	       count, first.connect_us, first.total_us);
	print_values("connect", connects, count);
	printf(",\n");
	print_values("total", totals, count);
	printf("\n}\n");
	free(connects);
	free(totals);
	return 0;
}

int timing_main(const struct program *program, int argc, char **argv)
{
	int port = argc > 2 ? atoi(argv[argc > 3 ? 3 : 2]) : 0;
	int count = argc > 4 ? atoi(argv[4]) : COUNT_DEFAULT;
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(port) };
	bool is_port = port > 0 && port < 65536;

	if (argc == 3 && strcmp(argv[1], "server") == 0 && is_port)
		return program->server(port);
	if ((argc == 4 || argc == 5) && strcmp(argv[1], "client") == 0 &&
	    inet_pton(AF_INET, argv[2], &to.sin_addr) == 1 && is_port &&
	    count > 0 && count <= COUNT_MAX)
		return client(program, &to, count);
	fprintf(stderr, "usage: %s server PORT\n"
		"       %s client ADDRESS PORT [COUNT]\n",
		program->name, program->name);
	return 2;
}
