wrk.method = "POST"
wrk.body = "grant_type=client_credentials"
wrk.headers["Content-Type"] = "application/x-www-form-urlencoded"
wrk.headers["Authorization"] = "Basic YmVuY2g6YmVuY2hLZXkwMTIzNDU2Nzg5YWJj"
