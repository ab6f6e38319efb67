// SPDX-License-Identifier: MIT
/*
 * fuzz_ctl: any attributes as an answer of the kernel to krcorectl.  All keys are in
 * the JSON, which reads back as what was written, and the text has whole lines.
 */
#include <krcore/uapi.h>

#include "fuzz.h"
#include "krcorectl.h"

/* A command's messages and its texts. */
struct kind {
	int attr_max;
	struct json_object *(*read)(struct nlattr **attrs);
	void (*print)(FILE *out, struct json_object *answer, const struct ctl_options *opts);
	const char *keys[3];		/* some that are always there */
	bool is_list;
};

static const struct kind kinds[] = {
	{ KRCORE_CONN_A_MAX, ctl_show_read, ctl_show_print,
	  { "state", "local_addr", "age_ms" }, true },
	{ KRCORE_STATS_A_MAX, ctl_stat_read, ctl_stat_print,
	  { "version", "counters", "fallbacks" }, false },
	{ KRCORE_HOST_A_MAX, ctl_host_read, ctl_host_print,
	  { "instance", "path", "unknown" }, true },
	{ KRCORE_DEV_A_MAX, ctl_dev_read, ctl_dev_print,
	  { "dev", "mtu", "qp_rebuilt" }, true },
	{ KRCORE_QP_A_MAX, ctl_qp_read, ctl_qp_print,
	  { "host", "state", "doubts" }, true },
};

static void check_printed(const struct kind *kind, struct json_object *answer,
			  const struct ctl_options *opts)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	kind->print(out, answer, opts);
	check(!fclose(out) && len && text[len - 1] == '\n');
	free(text);
}

static void check_json(struct json_object *answer)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	struct json_object *again;

	ctl_json_print(out, answer);
	check(!fclose(out));
	again = json_tokener_parse(text);
	check(again && json_object_equal(again, answer));
	json_object_put(again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input in = { data, len };
	uint8_t how = input_byte(&in);
	const struct kind *kind = &kinds[how & 16 ? 4 : how & 3];
	struct ctl_options opts = { .is_human = how & 4, .with_all = how & 8 };
	struct nlattr *attrs[64] = { NULL };
	struct json_object *answer, *list, *flat;
	void *bytes = malloc(in.len + 1);

	memcpy(bytes, in.p, in.len);
	if (nla_parse(attrs, kind->attr_max, bytes, (int)in.len, NULL) == 0) {
		answer = kind->read(attrs);
		for (int i = 0; i < 3; i++)
			check(json_object_object_get_ex(answer, kind->keys[i], NULL));
		check_json(answer);
		list = json_object_new_array();
		json_object_array_add(list, json_object_get(answer));
		check_printed(kind, kind->is_list ? list : answer, &opts);
		json_object_put(list);
		if (!kind->is_list) {
			flat = ctl_stat_flatten(answer);
			check_json(flat);
			json_object_put(flat);
		}
		json_object_put(answer);
	}
	free(bytes);
	return 0;
}
