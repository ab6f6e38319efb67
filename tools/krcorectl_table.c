// SPDX-License-Identifier: MIT
/* Text in columns, and sizes for people. */
#include "krcorectl.h"

#include <err.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void ctl_table_init(struct ctl_table *t, const char *aligns)
{
	*t = (struct ctl_table){
		.aligns = aligns,
		.nr_columns = strlen(aligns),
	};
	if (t->nr_columns > CTL_COLUMNS_MAX)
		errx(CTL_FAILED, "a table of %zu columns", t->nr_columns);
}

void ctl_table_cell(struct ctl_table *t, const char *format, ...)
{
	va_list args;
	char **cells;

	if (t->nr_cells == t->room) {
		t->room = t->room ? 2 * t->room : 64;
		cells = reallocarray(t->cells, t->room, sizeof(*cells));
		if (!cells)
			err(CTL_FAILED, NULL);
		t->cells = cells;
	}
	va_start(args, format);
	if (vasprintf(&t->cells[t->nr_cells], format, args) < 0)
		err(CTL_FAILED, NULL);
	va_end(args);
	t->nr_cells++;
}

static void print_row(const struct ctl_table *t, FILE *out, size_t first,
		      const size_t *widths)
{
	size_t last = t->nr_columns;

	/* No blanks at the end of a line. */
	while (last > 0 && t->cells[first + last - 1][0] == '\0')
		last--;
	for (size_t i = 0; i < last; i++) {
		int width = (int)widths[i];

		if (t->aligns[i] == 'l')
			width = i + 1 < last ? -width : 0;
		fprintf(out, "%s%*s", i ? "  " : "", width, t->cells[first + i]);
	}
	fputc('\n', out);
}

void ctl_table_print(const struct ctl_table *t, FILE *out, const char *indent)
{
	size_t widths[CTL_COLUMNS_MAX] = { 0 };

	for (size_t i = 0; i < t->nr_cells; i++) {
		size_t len = strlen(t->cells[i]);

		if (len > widths[i % t->nr_columns])
			widths[i % t->nr_columns] = len;
	}
	for (size_t i = 0; i + t->nr_columns <= t->nr_cells; i += t->nr_columns) {
		fputs(indent, out);
		print_row(t, out, i, widths);
	}
}

void ctl_table_clean(struct ctl_table *t)
{
	for (size_t i = 0; i < t->nr_cells; i++)
		free(t->cells[i]);
	free(t->cells);
	*t = (struct ctl_table){ 0 };
}

const char *ctl_size(char *text, uint64_t bytes, bool is_human)
{
	static const char units[] = "KMGTPE";
	double size = (double)bytes;
	int unit = -1;

	/* From 1023.95 on, %.1f would say 1024.0. */
	while (is_human && size >= 1023.95) {
		size /= 1024;
		unit++;
	}
	if (unit < 0)
		snprintf(text, CTL_SIZE_LEN, "%" PRIu64, bytes);
	else
		snprintf(text, CTL_SIZE_LEN, "%.1f%c", size, units[unit]);
	return text;
}
