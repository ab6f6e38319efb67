#!/bin/bash
# SPDX-License-Identifier: MIT
# nginx and curl: each on krcore with the other plain, and both on krcore.
. tests/vm/lib.sh

need nginx curl
lab -- 'mkdir -p /tmp/www
	head -c 5000000 /dev/urandom >/tmp/www/file
	cp /tmp/www/file "$OUT/file"
	for port in 8080 8081; do
		cat >/tmp/nginx.$port.conf <<END
worker_processes 2;
pid /tmp/nginx.$port.pid;
error_log /tmp/nginx.$port.log;
events { worker_connections 256; }
http { sendfile on; access_log off; server { listen $port; root /tmp/www; } }
END
	done
	nginx -c /tmp/nginx.8080.conf
	kr nginx -c /tmp/nginx.8081.conf
	lab-wait-port 8080
	lab-wait-port 8081' \
	'lab-wait-port 8081 h1
	fetch() { "$@" >/run/file; cmp /run/file "$OUT/file"; }
	get() { timeout 100 curl -sS "http://h1:$1/file"; }
	kget() { kr timeout 100 curl -sS "http://h1:$1/file"; }
	mark
	for i in 1 2 3; do fetch get 8080; fetch kget 8080; fetch get 8081; done
	over_tcp_only
	mark
	for i in 1 2 3; do fetch kget 8081; done
	over_rdma_only 15000000'
