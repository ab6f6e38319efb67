// SPDX-License-Identifier: MIT
/* krcorectl dev: the RDMA devices that krcore uses. */
#include "krcorectl.h"

#include <krcore/uapi.h>

#include <inttypes.h>
#include <string.h>

static const struct ctl_field fields[] = {
	{ KRCORE_DEV_A_NAME, CTL_STRING, "dev", NULL, 0 },
	{ KRCORE_DEV_A_QPN, CTL_U32, "qpn", NULL, 0 },
	{ KRCORE_DEV_A_MTU, CTL_U32, "mtu", NULL, 0 },
	{ KRCORE_DEV_A_TX_PACKETS, CTL_U64, "tx_packets", NULL, 0 },
	{ KRCORE_DEV_A_TX_BYTES, CTL_U64, "tx_bytes", NULL, 0 },
	{ KRCORE_DEV_A_RX_PACKETS, CTL_U64, "rx_packets", NULL, 0 },
	{ KRCORE_DEV_A_RX_BYTES, CTL_U64, "rx_bytes", NULL, 0 },
	{ KRCORE_DEV_A_TX_NO_SLOT, CTL_U64, "tx_no_slot", NULL, 0 },
	{ KRCORE_DEV_A_RX_ERRORS, CTL_U64, "rx_errors", NULL, 0 },
	{ KRCORE_DEV_A_QP_REBUILT, CTL_U64, "qp_rebuilt", NULL, 0 },
};

enum { NR_FIELDS = sizeof(fields) / sizeof(*fields) };

struct json_object *ctl_dev_read(struct nlattr **attrs)
{
	return ctl_fields_read(attrs, fields, NR_FIELDS);
}

void ctl_dev_print(FILE *out, struct json_object *devs,
		   const struct ctl_options *opts)
{
	static const char *const heads[NR_FIELDS] = {
		"Device", "QPN", "MTU", "Tx-packets", "Tx-bytes", "Rx-packets",
		"Rx-bytes", "Tx-no-slot", "Rx-errors", "QP-rebuilt",
	};
	struct ctl_table t;

	ctl_table_init(&t, "lrrrrrrrrr");
	for (size_t i = 0; i < NR_FIELDS; i++)
		ctl_table_cell(&t, "%s", heads[i]);
	for (size_t i = 0; i < json_object_array_length(devs); i++) {
		struct json_object *dev = json_object_array_get_idx(devs, i);

		ctl_table_cell(&t, "%s", ctl_string(dev, "dev"));
		for (size_t k = 1; k < NR_FIELDS; k++) {
			const char *key = fields[k].key;
			char text[CTL_SIZE_LEN];

			ctl_table_cell(&t, "%s",
				       ctl_size(text, ctl_number(dev, key),
						opts->is_human &&
						strstr(key, "_bytes")));
		}
	}
	ctl_table_print(&t, out, "");
	ctl_table_clean(&t);
}

static void on_dev(struct nlattr **attrs, void *ctx)
{
	json_object_array_add(ctx, ctl_dev_read(attrs));
}

enum ctl_exit ctl_run_dev(const struct ctl_options *opts)
{
	struct json_object *devs = json_object_new_array();
	int err;

	err = ctl_genl_ask(KRCORE_CMD_GET_DEVS, true, KRCORE_DEV_A_MAX, on_dev,
			   devs);
	if (!err && opts->is_json)
		ctl_json_print(stdout, devs);
	else if (!err)
		ctl_dev_print(stdout, devs, opts);
	json_object_put(devs);
	return err ? ctl_genl_failed(err) : CTL_OK;
}
