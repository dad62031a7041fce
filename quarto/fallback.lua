-- What Quarto does between Markdown and typst with the blocks that reports use: tables in raw HTML become tables,
-- labelled blocks become figures of its kinds, blocks for other formats go, references become references.

local kinds = { fig = "Figure", tbl = "Table", sec = "Section" }
local prefix = ""
local aligned = { gt_left = pandoc.AlignLeft, gt_right = pandoc.AlignRight, gt_center = pandoc.AlignCenter,
  gt_group_heading = pandoc.AlignLeft, gt_sourcenote = pandoc.AlignLeft }

local function typst(text) return pandoc.RawBlock("typst", text) end

local bold = { Plain = function(plain) return pandoc.Plain({ pandoc.Strong(plain.content) }) end }

local function dressed(rows, is_head)
  for _, row in ipairs(rows) do
    for _, cell in ipairs(row.cells) do
      local classes = cell.attr.classes
      for _, class in ipairs(classes) do
        cell.alignment = aligned[class] or cell.alignment
      end
      if is_head or classes:includes("gt_group_heading") then cell.contents = pandoc.Blocks(cell.contents):walk(bold) end
      cell.attr = pandoc.Attr()
    end
  end
end

local function tables(html)
  local text = html:gsub("<style.-</style>", ""):gsub("<th([%s>])", "<td%1"):gsub("</th>", "</td>")
  local found = pandoc.List()
  for markup in text:gmatch("<table.-</table>") do
    found:extend(pandoc.read(markup, "html"):walk({
      Table = function(element)
        element.attr = pandoc.Attr("", { "typst:no-figure" }, { ["typst:text:size"] = "0.85em" })
        dressed(element.head.rows, true)
        for _, body in ipairs(element.bodies) do dressed(body.body) end
        -- notes stand below the table: in a cell across all columns they would widen the last one; typst needs the empty foot
        local notes = pandoc.List()
        for _, row in ipairs(element.foot.rows) do
          for _, cell in ipairs(row.cells) do
            notes:extend(cell.contents)
            cell.contents = {}
          end
        end
        if #notes == 0 then return element end
        return pandoc.List({ element, typst("#align(left)[#set text(size: 0.8em); #set par(justify: false)\n") }) .. notes
          .. pandoc.List({ typst("]") })
      end,
    }).blocks)
  end
  return found
end

local function figure(div, kind)
  local caption = div.content:remove()
  local position = kind == "tbl" and "top" or "bottom"
  return pandoc.List({ typst("#figure([") }) .. div.content .. pandoc.List({
    typst("], caption: figure.caption(position: " .. position .. ", ["), pandoc.Plain(caption.content),
    typst(']), kind: "quarto-float-' .. kind .. '", supplement: "' .. prefix .. kinds[kind] .. '")\n<' .. div.identifier .. ">\n"),
  })
end

return {
  { Meta = function(meta) if meta.prefix then prefix = pandoc.utils.stringify(meta.prefix) .. " " end end },
  { RawBlock = function(raw) if raw.format == "html" then return tables(raw.text) end end },
  {
    Div = function(div)
      local kind = div.identifier:match("^(%a+)%-")
      if div.attributes["when-format"] == "html" then return {} end
      if kind == "fig" or kind == "tbl" then return figure(div, kind) end
      if div.attributes["title"] then
        return pandoc.List({ typst("#block(breakable: false, width: 100%, inset: 8pt, fill: luma(240))["),
          pandoc.Para(pandoc.Strong(div.attributes["title"])) }) .. div.content .. pandoc.List({ typst("]") })
      end
      if div.identifier == "refs" then return nil end
      return div.content
    end,
    Cite = function(cite)
      local id = cite.citations[1].id
      local kind = kinds[id:match("^(%a+)%-") or ""]
      if kind and kind ~= kinds.sec then kind = prefix .. kind end
      if kind then return pandoc.RawInline("typst", "#ref(<" .. id .. ">, supplement: [" .. kind .. "])") end
    end,
  },
}
