-- Repeats one request. Arguments: method, path, token, body. {n} in the body is a number that never repeats.
local method, path, headers, body
local count = 0
local run = ""

function init(arguments)
  method, path = arguments[1], arguments[2]
  headers = { ["Authorization"] = "Bearer " .. arguments[3], ["Accept-Language"] = "en" }
  if arguments[4] then
    headers["Content-Type"] = "application/json"
    body = arguments[4]
  end
  run = string.format("%d%s", os.time(), tostring({}):gsub("%W", ""))
end

function request()
  count = count + 1
  return wrk.format(method, path, headers, body and body:gsub("{n}", run .. count) or nil)
end
