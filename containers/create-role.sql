-- Runs at the end of PostgreSQL's first start. Creates the role of the device service, which owns
-- its database and has no other rights. Run again, it sets the current password of that role
-- (docs/operations/secrets.md) and creates what is missing if the first start was interrupted.
-- PostgreSQL receives a SCRAM verifier. Only the device service knows the password.
set log_statement = 'none';
set log_min_error_statement = 'panic';
\set verifier `cat /run/gatehouse/role-verifier`
select 'create database devices'
where not exists (select from pg_database where datname = 'devices') \gexec
select 'create role gatehouse_devices'
where not exists (select from pg_roles where rolname = 'gatehouse_devices') \gexec
alter role gatehouse_devices login
  nosuperuser nocreatedb nocreaterole noreplication nobypassrls connection limit 40
  password :'verifier';
alter database devices owner to gatehouse_devices;
revoke all on database devices from public;
revoke connect on database postgres, template1 from public;
-- Removes the password of the first start, so that the superuser cannot sign in over the network.
alter role postgres password null;
