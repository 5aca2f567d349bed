-- Asks the gateway whether HAProxy may forward a request. See docs/forward-auth.md.

local VERIFICATION_URL = "http://127.0.0.1:8844/_verify?scope=device:read&audience=reports"
local TIMEOUT_MILLISECONDS = 5000

-- The gateway sees these headers of the caller, and no others.
local asked_with = {
  "authorization", "x-access-token", "x-client-id", "x-timestamp", "x-nonce", "x-sign",
  "x-sign-v2", "content-type", "origin", "user-agent", "x-request-id", "x-forwarded-for",
}

-- The service must not receive credentials.
local removed = { "x-access-token", "x-client-id", "x-timestamp", "x-nonce", "x-sign", "x-sign-v2" }

-- They replace what the caller sent. Otherwise a caller could choose an identity.
local replaced = {
  "authorization", "x-auth-client-id", "x-auth-subject", "x-auth-organization", "x-auth-scope",
  "x-request-id",
}

-- These headers of a rejection reach the caller.
local returned = {
  "content-type", "www-authenticate", "retry-after", "x-request-id", "cache-control", "allow",
}

-- HAProxy counts the values of a header from 0.
local function values_of(headers, name)
  local values = {}
  local index = 0
  while headers[name] ~= nil and headers[name][index] ~= nil do
    table.insert(values, headers[name][index])
    index = index + 1
  end
  return values
end

local function refuse(txn, answer)
  local reply = txn:reply({ status = 503 })
  if answer ~= nil and answer.status ~= nil and answer.status >= 400 then
    reply:set_status(answer.status)
    reply:set_body(answer.body or "")
    for _, name in ipairs(returned) do
      for _, value in ipairs(values_of(answer.headers, name)) do
        reply:add_header(name, value)
      end
    end
  end
  txn:done(reply)
end

core.register_action("verify", { "http-req" }, function(txn)
  local received = txn.http:req_get_headers()
  local verification = {
    ["x-original-method"] = { txn.f:method() },
    ["x-original-uri"] = { txn.f:pathq() },
  }
  for _, name in ipairs(asked_with) do
    local values = values_of(received, name)
    if #values > 0 then
      -- Also a repeated header, so that the gateway can reject it.
      verification[name] = values
    end
  end
  local answer = core.httpclient():get({
    url = VERIFICATION_URL, headers = verification, timeout = TIMEOUT_MILLISECONDS,
  })
  if answer == nil or answer.status ~= 200 then
    refuse(txn, answer)
    return
  end
  for _, name in ipairs(removed) do
    txn.http:req_del_header(name)
  end
  for _, name in ipairs(replaced) do
    txn.http:req_set_header(name, values_of(answer.headers, name)[1] or "")
  end
  txn:set_var("txn.verified", true)
end, 0)
