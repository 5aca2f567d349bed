-- Runs once, at the end of PostgreSQL's first start: the device service's own role, which owns its database and can do
-- nothing else. Run again, it sets the current password of that role (docs/operations/secure.md) and creates what is missing if
-- the first start was interrupted.
-- The server is given a SCRAM verifier; the password itself is known to the device service alone.
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
-- Nobody signs in as the superuser over the network: the password of the first start ends here.
alter role postgres password null;
