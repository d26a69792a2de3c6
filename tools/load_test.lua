-- wrk's part of tools/load-test: each thread is one client, which asks one request after the other and compares.
local asked = dofile(os.getenv("ANSWERS"))
local threads = {}

function setup(thread)
  thread:set("number", #threads)
  table.insert(threads, thread)
end

function init()
  right, wrong, later, other, first = 0, 0, 0, 0, ""
  for _, item in ipairs(asked.list) do
    local file = assert(io.open(item.file, "rb"))
    item.answer = file:read("*a")
    file:close()
    local headers = {["Host"] = asked.host, ["X-Headlight-Token"] = asked.token}
    if item.body ~= "" then headers["Content-Type"] = "application/json" end
    item.request = wrk.format(item.body ~= "" and "POST" or "GET", item.path, headers, item.body ~= "" and item.body or nil)
  end
  at = number * 7 % #asked.list  -- clients ask different things at the same time
end

function request()
  at = at % #asked.list + 1
  return asked.list[at].request
end

function response(status, headers, body)
  local item = asked.list[at]
  if status == 200 and body == item.answer then
    right = right + 1
  elseif status == 503 then
    later = later + 1
  else
    if status == 200 then wrong = wrong + 1 else other = other + 1 end
    if first == "" then first = item.path .. " answered " .. status .. " with " .. #body .. " bytes" end
  end
end

function done(summary, latency, requests)
  local sum = {right = 0, wrong = 0, later = 0, other = 0}
  local example = ""
  for _, thread in ipairs(threads) do
    for name in pairs(sum) do sum[name] = sum[name] + thread:get(name) end
    if example == "" then example = thread:get("first") end
  end
  local errors = summary.errors
  local broken = errors.connect + errors.read + errors.write + errors.timeout
  print(string.format("%d clients: %d answers equal to those of one client, %d times 503, %d with other bytes, " ..
                      "%d with another status, %d broken connections", #threads, sum.right, sum.later, sum.wrong,
                      sum.other, broken))
  if sum.wrong + sum.other + broken == 0 and sum.right > 0 then print("all answers were right")
  else print("first failure: " .. example) end
end
