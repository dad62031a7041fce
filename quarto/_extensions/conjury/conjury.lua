-- Short codes that cite numbers and figures of a results folder, so that no number of a paper is typed:
--   {{< conjury amce judge=mini feature=size level=large >}}         0.319 [0.254, 0.378]
--   {{< conjury amce judge=mini feature=size level=large show=p >}}  any column of the table, here p
--   {{< conjury-figure amce >}}
-- The folder is `conjury-results` in the header of the document, or `results`. Columns that are named select one row.

local DIGITS, MORE_DIGITS, SMALLEST_P = 3, 4, 0.001  -- as all that conjury prints
local P_LIMITS = { 0.001, 0.01, 0.05, 0.1 }
local SETTINGS = { show = true, digits = true, points = true, results = true }

local text = pandoc.utils.stringify

local function refuse(...) error("conjury: " .. string.format(...), 0) end

local function setting(kwargs, name)
  local value = kwargs[name] ~= nil and text(kwargs[name]) or ""
  return value ~= "" and value or nil
end

local function results_folder(kwargs, meta)
  local stated = meta["conjury-results"]
  return setting(kwargs, "results") or (stated ~= nil and text(stated)) or "results"
end

local function read(path, remedy)
  local file = io.open(path, "r")
  if not file then refuse("there is no file %s; %s", path, remedy) end
  local content = file:read("a")
  file:close()
  return content
end

-- Rows of a CSV file (RFC 4180), each a table from the name of a column to its text.
local function read_table(path)
  local content = read(path, "run `conjury fit`, or name its folder as conjury-results in the header.")
  local rows, row, cell, position, quoted = {}, {}, {}, 1, false
  while position <= #content do
    local letter = content:sub(position, position)
    if quoted then
      if letter == '"' and content:sub(position + 1, position + 1) == '"' then
        cell[#cell + 1], position = '"', position + 1
      elseif letter == '"' then quoted = false
      else cell[#cell + 1] = letter end
    elseif letter == '"' then quoted = true
    elseif letter == "," or letter == "\n" then
      row[#row + 1], cell = table.concat(cell), {}
      if letter == "\n" then rows[#rows + 1], row = row, {} end
    elseif letter ~= "\r" then cell[#cell + 1] = letter end
    position = position + 1
  end
  if #cell > 0 or #row > 0 then row[#row + 1] = table.concat(cell); rows[#rows + 1] = row end
  local head, named = table.remove(rows, 1) or {}, {}
  for number, values in ipairs(rows) do
    named[number] = {}
    for place, name in ipairs(head) do named[number][name] = values[place] end
  end
  return named, head
end

local function has(list, name)
  for _, each in ipairs(list) do if each == name then return true end end
  return false
end

-- The one row with these values; what else would select it is said where there are several.
local function select_row(rows, head, chosen, path)
  local fit = {}
  for _, row in ipairs(rows) do
    local is_it = true
    for name, value in pairs(chosen) do is_it = is_it and row[name] == value end
    if is_it then fit[#fit + 1] = row end
  end
  if #fit == 1 then return fit[1] end
  if #fit == 0 then refuse("%s has no row with the values that are named.", path) end
  for _, name in ipairs(head) do
    local values = {}
    for _, row in ipairs(fit) do
      if row[name] ~= fit[1][name] and not tonumber(row[name]) then values[row[name]] = true end
    end
    if chosen[name] == nil and next(values) then
      refuse("%d rows of %s have these values; name also %s (such as %s).", #fit, path, name, fit[1][name])
    end
  end
  refuse("%d rows of %s have these values.", #fit, path)
end

local function number(value, digits)
  local rounded = string.format("%." .. digits .. "f", value)
  return (rounded:gsub("-", tonumber(rounded) == 0 and "" or "−"))
end

-- As many digits as keep each number on its side of each limit, which rounding alone might reach.
local function digits_beside(values, digits, limits)
  local needed = digits
  for _, value in ipairs(values) do
    for _, limit in ipairs(limits) do
      for places = digits, digits + MORE_DIGITS do
        local printed = tonumber(string.format("%." .. places .. "f", value))
        if (printed > limit) == (value > limit) and (printed < limit) == (value < limit) then
          needed = math.max(needed, places)
          break
        end
      end
    end
  end
  return needed
end

local function p_value(p)
  if p < SMALLEST_P then return "<0.001" end
  return number(p, digits_beside({ p }, 3, P_LIMITS))
end

local function shown(row, column, digits, factor)
  local value = tonumber(row[column])
  if not value then return row[column] end
  if column == "p" or column:match("^p_") or column:match("_p$") then return p_value(value) end
  if math.type(value) == "integer" then return tostring(value) end
  return number(value * factor, digits)
end

local function cite(args, kwargs, meta)
  local name = args[1] and text(args[1]) or refuse("name a table, as in {{< conjury amce level=... >}}.")
  local path = results_folder(kwargs, meta) .. "/tables/" .. name .. ".csv"
  local rows, head = read_table(path)
  local chosen = {}
  for key, value in pairs(kwargs) do
    if not SETTINGS[key] then
      if not has(head, key) then refuse("%s has no column %s; it has %s.", path, key, table.concat(head, ", ")) end
      chosen[key] = text(value)
    end
  end
  local row = select_row(rows, head, chosen, path)
  local points = setting(kwargs, "points") == "true"
  local factor = points and 100 or 1
  local digits = tonumber(setting(kwargs, "digits") or (points and 1 or DIGITS))
  local column = setting(kwargs, "show")
  if column then
    if not has(head, column) then refuse("%s has no column %s; it has %s.", path, column, table.concat(head, ", ")) end
    return pandoc.Str(shown(row, column, digits, factor))
  end
  if not tonumber(row.estimate) then refuse("this row of %s has no estimate.", path) end
  local lower, upper = tonumber(row.lower), tonumber(row.upper)
  local limits = ""
  if lower and upper then
    local ends = { lower * factor, upper * factor }
    local places = digits_beside(ends, digits, { 0, 0.5 * factor })
    limits = " [" .. number(ends[1], places) .. ",\u{a0}" .. number(ends[2], places) .. "]"
  end
  return pandoc.Str(number(tonumber(row.estimate) * factor, digits) .. limits)
end

local function show_figure(args, kwargs, meta)
  local name = args[1] and text(args[1]) or refuse("name a figure, as in {{< conjury-figure amce >}}.")
  local kind = quarto.doc.is_format("latex") and "pdf" or quarto.doc.is_format("docx") and "png" or "svg"
  local path = results_folder(kwargs, meta) .. "/figures/" .. name .. "." .. kind
  read(path, "draw it by `conjury fit ... --figures " .. kind .. "`.")
  return pandoc.Image({}, path)
end

return { ["conjury"] = cite, ["conjury-figure"] = show_figure }
