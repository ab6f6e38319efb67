// SPDX-License-Identifier: MIT
/* krcorectl qp: the RC QPs and TCP connections that krcore shares out to connections. */
#include "krcorectl.h"

#include <krcore/uapi.h>

#include <string.h>

static const char *const askers[] = { "peer", "us" };

static const struct ctl_field fields[] = {
	{ KRCORE_QP_A_HOST, CTL_ID, "host", NULL, 0 },
	{ KRCORE_QP_A_KIND, CTL_STRING, "kind", NULL, 0 },
	{ KRCORE_QP_A_STATE, CTL_STRING, "state", NULL, 0 },
	{ KRCORE_QP_A_DEV, CTL_STRING, "dev", NULL, 0 },
	{ KRCORE_QP_A_LOCAL_QPN, CTL_U32, "lqpn", NULL, 0 },
	{ KRCORE_QP_A_REMOTE_QPN, CTL_U32, "rqpn", NULL, 0 },
	{ KRCORE_QP_A_ASKED, CTL_NAME, "asked_by", askers, 2 },
	{ KRCORE_QP_A_VQPS, CTL_U32, "vqps", NULL, 0 },
	{ KRCORE_QP_A_CREDITS, CTL_U32, "credits", NULL, 0 },
	{ KRCORE_QP_A_INFLIGHT, CTL_U32, "inflight", NULL, 0 },
	{ KRCORE_QP_A_TX_BYTES, CTL_U64, "tx_bytes", NULL, 0 },
	{ KRCORE_QP_A_RX_BYTES, CTL_U64, "rx_bytes", NULL, 0 },
	{ KRCORE_QP_A_AGE_MS, CTL_U64, "age_ms", NULL, 0 },
	{ KRCORE_QP_A_IDLE_MS, CTL_U64, "idle_ms", NULL, 0 },
	{ KRCORE_QP_A_DOUBTS, CTL_U64, "doubts", NULL, 0 },
};

enum { NR_FIELDS = sizeof(fields) / sizeof(*fields) };

struct json_object *ctl_qp_read(struct nlattr **attrs)
{
	return ctl_fields_read(attrs, fields, NR_FIELDS);
}

static void add_qp(struct ctl_table *t, struct json_object *qp, bool is_human)
{
	for (size_t i = 0; i < NR_FIELDS; i++) {
		const char *key = fields[i].key;
		char size[CTL_SIZE_LEN];

		if (!json_object_object_get(qp, key))
			ctl_table_cell(t, "-");
		else if (strstr(key, "_bytes"))
			ctl_table_cell(t, "%s", ctl_size(size, ctl_number(qp, key), is_human));
		else
			ctl_table_cell(t, "%s", ctl_string(qp, key));
	}
}

void ctl_qp_print(FILE *out, struct json_object *qps, const struct ctl_options *opts)
{
	static const char *const heads[NR_FIELDS] = {
		"Host", "Kind", "State", "Device", "QPN", "Peer-QPN", "Asked-by",
		"VQPs", "Credits", "In-flight", "Tx-bytes", "Rx-bytes", "Age-ms",
		"Idle-ms", "Doubts",
	};
	struct ctl_table t;

	ctl_table_init(&t, "llllrrlrrrrrrrr");
	for (size_t i = 0; i < NR_FIELDS; i++)
		ctl_table_cell(&t, "%s", heads[i]);
	for (size_t i = 0; i < json_object_array_length(qps); i++)
		add_qp(&t, json_object_array_get_idx(qps, i), opts->is_human);
	ctl_table_print(&t, out, "");
	ctl_table_clean(&t);
}

static void on_qp(struct nlattr **attrs, void *ctx)
{
	json_object_array_add(ctx, ctl_qp_read(attrs));
}

enum ctl_exit ctl_run_qp(const struct ctl_options *opts)
{
	struct json_object *qps = json_object_new_array();
	int err;

	err = ctl_genl_ask(KRCORE_CMD_GET_QPS, true, KRCORE_QP_A_MAX, on_qp, qps);
	if (!err && opts->is_json)
		ctl_json_print(stdout, qps);
	else if (!err)
		ctl_qp_print(stdout, qps, opts);
	json_object_put(qps);
	return err ? ctl_genl_failed(err) : CTL_OK;
}
