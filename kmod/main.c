// SPDX-License-Identifier: GPL-2.0
/* krcore.ko: the table of contents.  Each room has its init and exit. */
#include <linux/module.h>
#include <krcore/uapi.h>
#include "carrier.h"
#include "dev.h"
#include "host.h"
#include "netlink.h"
#include "peer.h"
#include "pool.h"
#include "rc.h"
#include "sock.h"
#include "tcplane.h"

static int __init krcore_init(void)
{
	int err;

	err = kr_carriers_init();
	if (err)
		return err;
	err = kr_tcp_init();
	if (err)
		goto err_carriers;
	err = kr_pool_start();
	if (err)
		goto err_tcp;
	err = kr_host_init();
	if (err)
		goto err_tcp;
	err = kr_peer_init();
	if (err)
		goto err_host;
	err = kr_dev_init();
	if (err)
		goto err_peer;
	kr_rc_init();
	err = kr_netlink_init();
	if (err)
		goto err_rc;
	err = kr_sock_init();
	if (err)
		goto err_netlink;
	pr_info("krcore %s loaded\n", KRCORE_VERSION);
	return 0;

err_netlink:
	kr_netlink_exit();
err_rc:
	kr_pool_stop();
	kr_rc_exit();
	kr_dev_exit();
err_peer:
	kr_host_stop();
	kr_peer_exit();
err_host:
	kr_host_exit();
err_tcp:
	kr_pool_stop();
	kr_tcp_stop();
	kr_carriers_exit();
	kr_tcp_exit();
	return err;

err_carriers:
	kr_carriers_exit();
	return err;
}

static void __exit krcore_exit(void)
{
	kr_sock_exit();
	kr_netlink_exit();
	/* No QP or connection to a host comes any more; the QPs need their devices. */
	kr_pool_stop();
	kr_rc_exit();
	kr_tcp_stop();
	kr_dev_exit();
	kr_host_stop();
	kr_peer_exit();
	kr_host_exit();
	kr_carriers_exit();
	kr_tcp_exit();
}

module_init(krcore_init);
module_exit(krcore_exit);

MODULE_DESCRIPTION("Sockets over shared RDMA queue pairs");
MODULE_LICENSE("GPL");
MODULE_VERSION(KRCORE_VERSION);
