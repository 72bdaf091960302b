package blockkit

// Tables and charts, which have limits of their own and do not count towards
// a message's text.

var (
	rawText   = ofType("raw_text", need("text", str("table.cell_text", 1, 0)))
	rawNumber = ofType("raw_number", need("value", number), may("text", str("data_table.cell_text", 1, 0)))

	tableCells     = choose("table.cell", rawText, rawNumber, richText)
	dataTableCells = choose("data_table.cell",
		ofType("raw_text", need("text", str("data_table.cell_text", 1, 0))), rawNumber, richText)
)

var tableBlock = block("table",
	need("rows", listOf("table.rows", 1, MaxTableRows, listOf("table.columns", 1, MaxTableColumns, tableCells.check))),
	may("column_settings", listOf("table.column_settings", 0, MaxTableColumns, columnSetting)),
).only(Message, StreamChunk).hidden().with(func(c *checker, p place, m map[string]any) {
	columns := rowShape(c, p, m, "table.row_shape")
	if settings, ok := m["column_settings"].([]any); ok && columns > 0 && len(settings) != columns {
		c.fail(p.field("column_settings"), "table.column_settings", columns, "must have one entry for each of the %d columns", columns)
	}
	c.tableText += tableText(m["rows"])
})

// columnSetting may be null: "this column as it comes".
func columnSetting(c *checker, p place, v any) {
	if v != nil {
		columnSettings.check(c, p, v)
	}
}

var columnSettings = &shape{name: "table.column_setting", fields: []field{
	may("align", enum("table.align", "left", "center", "right")),
	may("is_wrapped", boolean),
}}

var dataTable = block("data_table",
	need("rows", listOf("data_table.rows", MinDataTableRows, MaxDataTableRows,
		listOf("data_table.columns", 1, MaxTableColumns, dataTableCells.check))),
	may("page_size", integer("data_table.page_size", 1, MaxDataTablePage)),
	may("caption", str("data_table.caption", 0, 0)),
	may("row_header_column_index", integer("data_table.row_header_column_index", 0, MaxTableColumns-1)),
).hidden().with(func(c *checker, p place, m map[string]any) {
	rowShape(c, p, m, "data_table.row_shape")
	if n := tableText(m["rows"]); n > MaxDataTableText {
		c.fail(p.field("rows"), "data_table.content.max_length", MaxDataTableText, "the cells together must be less than %d characters", MaxDataTableText+1)
	}
})

// rowShape checks that all rows are as wide as the first, and returns that.
func rowShape(c *checker, p place, m map[string]any, rule string) int {
	rows, _ := m["rows"].([]any)
	columns := -1
	at := p.field("rows")
	for i, r := range rows {
		row, ok := r.([]any)
		switch {
		case !ok:
		case columns < 0:
			columns = len(row)
		case len(row) != columns:
			c.fail(at.item(i), rule, columns, "every row must have %d cells as the first has", columns)
			return columns
		}
	}
	return columns
}

// tableText sums the text of cells: of raw ones, and of the runs in rich ones.
func tableText(v any) (n int) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n += tableText(e)
		}
	case map[string]any:
		if s, ok := v["text"].(string); ok {
			n += length(s)
		}
		n += tableText(v["elements"])
	}
	return n
}

var dataVisualization = block("data_visualization",
	need("title", str("data_visualization.title", 0, MaxChartTitle)),
	need("chart", choose("data_visualization.chart",
		ofType("pie", need("segments", listOf("data_visualization.segments", 1, MaxChartSeries, segment.check))),
		ofType("bar", axisChart...), ofType("line", axisChart...), ofType("area", axisChart...),
	).check),
)

var segment = &shape{name: "data_visualization.segment", fields: []field{
	need("label", str("data_visualization.segment.label", 0, MaxChartLabel)),
	need("value", func(c *checker, p place, v any) {
		number(c, p, v)
		if r := rational(v); r != nil && r.Sign() <= 0 {
			c.fail(p, "data_visualization.segment.value.exclusive_min", 0, "must be more than 0")
		}
	}),
}}

var axisChart = []field{
	need("series", listOf("data_visualization.series", 1, MaxChartSeries, (&shape{name: "data_visualization.series", fields: []field{
		need("name", str("data_visualization.series_name", 0, MaxChartLabel)),
		need("data", listOf("data_visualization.data", 1, MaxChartPoints, (&shape{name: "data_visualization.point", fields: []field{
			need("label", str("data_visualization.point_label", 0, MaxChartLabel)),
			need("value", number),
		}}).check)),
	}}).check)),
	need("axis_config", (&shape{name: "data_visualization.axis_config", fields: []field{
		need("categories", listOf("data_visualization.categories", 1, MaxChartPoints, str("data_visualization.category_label", 0, MaxChartLabel))),
		may("x_label", str("data_visualization.axis_label", 0, MaxChartAxis)),
		may("y_label", str("data_visualization.axis_label", 0, MaxChartAxis)),
	}}).check),
}
