// SPDX-License-Identifier: MIT
/* krcorectl stat: the counters of the module, and why connections use TCP. */
#include "krcorectl.h"

#include <krcore/uapi.h>

#include <inttypes.h>
#include <string.h>

static const struct ctl_field counter_fields[] = {
	{ KRCORE_COUNTER_A_NAME, CTL_STRING, "name", NULL, 0 },
	{ KRCORE_COUNTER_A_VALUE, CTL_U64, "value", NULL, 0 },
};

static const struct ctl_field fallback_fields[] = {
	{ KRCORE_FALLBACK_A_TOKEN, CTL_STRING, "token", NULL, 0 },
	{ KRCORE_FALLBACK_A_TEXT, CTL_STRING, "text", NULL, 0 },
	{ KRCORE_FALLBACK_A_COUNT, CTL_U64, "count", NULL, 0 },
};

/* The larger of the two sets of attributes that nest in a list. */
enum { ITEM_ATTR_MAX = KRCORE_FALLBACK_A_MAX };
_Static_assert((int)KRCORE_COUNTER_A_MAX <= (int)ITEM_ATTR_MAX, "ITEM_ATTR_MAX");

static struct json_object *read_list(struct nlattr *list,
				     const struct ctl_field *fields, size_t nr)
{
	struct json_object *items = json_object_new_array();
	struct nlattr *attr;
	int left;

	if (!list)
		return items;
	nla_for_each_nested(attr, list, left) {
		struct nlattr *attrs[ITEM_ATTR_MAX + 1] = { NULL };

		if (nla_parse_nested(attrs, ITEM_ATTR_MAX, attr, NULL) == 0)
			json_object_array_add(items,
					      ctl_fields_read(attrs, fields, nr));
	}
	return items;
}

/* {"version": text, "counters": [name, value], "fallbacks": [token, text, count]} */
struct json_object *ctl_stat_read(struct nlattr **attrs)
{
	static const struct ctl_field version[] = {
		{ KRCORE_STATS_A_VERSION, CTL_STRING, "version", NULL, 0 },
	};
	struct json_object *answer = ctl_fields_read(attrs, version, 1);

	json_object_object_add(answer, "counters",
			       read_list(attrs[KRCORE_STATS_A_COUNTERS],
					 counter_fields, 2));
	json_object_object_add(answer, "fallbacks",
			       read_list(attrs[KRCORE_STATS_A_FALLBACKS],
					 fallback_fields, 3));
	return answer;
}

/* For programs: {NAME: value, ..., "fallbacks": {TOKEN: count}, "version": text} */
struct json_object *ctl_stat_flatten(struct json_object *answer)
{
	struct json_object *counters = json_object_object_get(answer, "counters");
	struct json_object *reasons = json_object_object_get(answer, "fallbacks");
	struct json_object *flat = json_object_new_object();
	struct json_object *fallbacks = json_object_new_object();

	for (size_t i = 0; i < json_object_array_length(counters); i++) {
		struct json_object *c = json_object_array_get_idx(counters, i);

		json_object_object_add(flat, ctl_string(c, "name"),
				       json_object_new_uint64(ctl_number(c, "value")));
	}
	for (size_t i = 0; i < json_object_array_length(reasons); i++) {
		struct json_object *r = json_object_array_get_idx(reasons, i);

		json_object_object_add(fallbacks, ctl_string(r, "token"),
				       json_object_new_uint64(ctl_number(r, "count")));
	}
	json_object_object_add(flat, "fallbacks", fallbacks);
	json_object_object_add(flat, "version",
			       json_object_new_string(ctl_string(answer, "version")));
	return flat;
}

static void print_counters(FILE *out, struct json_object *counters,
			   const struct ctl_options *opts)
{
	struct ctl_table t;

	ctl_table_init(&t, "lr");
	for (size_t i = 0; i < json_object_array_length(counters); i++) {
		struct json_object *c = json_object_array_get_idx(counters, i);
		const char *name = ctl_string(c, "name");
		bool is_size = opts->is_human && strstr(name, "bytes");
		char text[CTL_SIZE_LEN];

		if (!ctl_number(c, "value") && !opts->with_all)
			continue;
		ctl_table_cell(&t, "%s", name);
		ctl_table_cell(&t, "%s", ctl_size(text, ctl_number(c, "value"),
						  is_size));
	}
	ctl_table_print(&t, out, "");
	ctl_table_clean(&t);
}

static void print_fallbacks(FILE *out, struct json_object *reasons,
			    const struct ctl_options *opts)
{
	struct ctl_table t;

	ctl_table_init(&t, "lrl");
	for (size_t i = 0; i < json_object_array_length(reasons); i++) {
		struct json_object *r = json_object_array_get_idx(reasons, i);

		if (!ctl_number(r, "count") && !opts->with_all)
			continue;
		ctl_table_cell(&t, "%s", ctl_string(r, "token"));
		ctl_table_cell(&t, "%" PRIu64, ctl_number(r, "count"));
		ctl_table_cell(&t, "%s", ctl_string(r, "text"));
	}
	if (t.nr_cells)
		fputs("TCP instead of RDMA:\n", out);
	ctl_table_print(&t, out, "  ");
	ctl_table_clean(&t);
}

void ctl_stat_print(FILE *out, struct json_object *answer,
		    const struct ctl_options *opts)
{
	fprintf(out, "krcore %s\n", ctl_string(answer, "version"));
	print_counters(out, json_object_object_get(answer, "counters"), opts);
	print_fallbacks(out, json_object_object_get(answer, "fallbacks"), opts);
}

static void on_stats(struct nlattr **attrs, void *ctx)
{
	struct json_object **answer = ctx;

	json_object_put(*answer);
	*answer = ctl_stat_read(attrs);
}

enum ctl_exit ctl_run_stat(const struct ctl_options *opts)
{
	struct json_object *answer = NULL, *flat;
	int err;

	err = ctl_genl_ask(KRCORE_CMD_GET_STATS, false, KRCORE_STATS_A_MAX,
			   on_stats, &answer);
	if (err)
		return ctl_genl_failed(err);
	if (opts->is_json) {
		flat = ctl_stat_flatten(answer);
		ctl_json_print(stdout, flat);
		json_object_put(flat);
	} else {
		ctl_stat_print(stdout, answer, opts);
	}
	json_object_put(answer);
	return CTL_OK;
}
