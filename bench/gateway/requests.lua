-- Sends the requests of a file in turn: one line each, header=value pairs separated by tabs, the path first.
local requests = {}
local at = 0

function init(arguments)
  for line in io.lines(arguments[1]) do
    local headers = {}
    local path
    for part in line:gmatch("[^\t]+") do
      if not path then
        path = part
      else
        local name, value = part:match("^([^=]+)=(.*)$")
        headers[name] = value
      end
    end
    requests[#requests + 1] = wrk.format("GET", path, headers)
  end
end

function request()
  at = at % #requests + 1
  return requests[at]
end
