-- take makes decisions, one after the other; each decides all its charges at once.
--
-- KEYS: one a charge. ARGV[1]: clock:7 (0: Redis's own), then the terms that charges share, for each kind:1 (the
-- algorithm, + 16 for a shadow), limit:6, window or refill:6, cost:6 (limit + 1 stands for anything more).
-- ARGV[2]: for each decision its charges, a byte each, the number of its terms from 1; and a 0 at its end.
-- ARGV[2 + n]: the longest time to live of terms n in milliseconds, as text, because Lua is slow at writing numbers.
--
-- The answer is one string with, for each charge, status:1 remaining:6 wait:6 retry:6 receipt:8 (0: none recorded).
-- include start.lua
local DENIED, FITS, FAULT = 0, 1, 2

local terms = {}
for p = 8, #ARGV[1], 19 do
  local kind, limit, span, cost = parse('>BI6I6I6', ARGV[1], p)
  terms[#terms + 1] = { kind % 16, limit, span, cost, kind >= 16, ARGV[3 + #terms] }
end

local answers, plan, place, done = {}, ARGV[2], 1, 0
local charges = {}
while done < #KEYS do
  local fits, count, term = true, 0, terms[byte(plan, place)]
  while term do
    count, place = count + 1, place + 1
    local i, kind, limit, span, cost, status = done + count, term[1], term[2], term[3], term[4], FITS
    -- include judge.lua
    if not used then
      status, used = FAULT, limit
    elseif cost > 0 and cost > limit - used then
      status = DENIED
      fits = fits and term[5]
    end
    charges[count] = { term, status, used, wait, retry, a, b, mark, stepped, v }
    term = terms[byte(plan, place)]
  end
  place = place + 1
  for n = 1, count do
    local charge = charges[n]
    local term, status, used, wait, a, b, mark = charge[1], charge[2], charge[3], charge[4], charge[6], charge[7], charge[8]
    local kind, limit, span, cost, ttl = term[1], term[2], term[3], term[4], term[6]
    local key, at, first_wait = KEYS[done + n], 0, 0
    if fits and status == FITS and cost > 0 then
      -- include record.lua
      at, wait, used = now, used > 0 and wait or first_wait, used + cost
    elseif charge[10] then
      -- Nothing changes, but a step of the clock has to be remembered, and a time to live that is missing or too long is
      -- set right. A value of another shape is let go in time, too.
      local left = call('PTTL', key)
      if charge[9] then
        cost = 0
        -- include record.lua
      elseif left < 0 or left > ttl + 0 then
        call('PEXPIRE', key, ttl)
      end
    end
    answers[#answers + 1] = pack('>BI6I6I6I7B', status, max(0, limit - used), wait, charge[5], at, at > 0 and mark or 0)
  end
  done = done + count
end
return table.concat(answers)
